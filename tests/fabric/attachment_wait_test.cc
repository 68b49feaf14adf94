// SPDX-License-Identifier: Apache-2.0
// Programs that send more than leaves and take less than comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/attachment.h"
#include "running_lab.h"
#include "test_program.h"

namespace weft::fabric {
namespace {

using ::testing::SizeIs;

Psn psn_of(const std::vector<std::byte>& packet) {
  return wire::Bth::parse(Bytes(packet).subspan(wire::Lrh::kSize))->psn;
}

class AttachmentWait : public ::testing::Test {
 protected:
  AttachmentWait() { lab.bring_up(); }

  // Sends packets numbered on until it is told to wait, or so many are sent.
  std::size_t flood(TestProgram& from, const TestProgram& to, std::size_t most, Sl sl = {}) {
    Datagram datagram = from.to(to);
    datagram.sl = sl;
    for (std::size_t sent = 0; sent < most; ++sent) {
      datagram.psn = next;
      if (from.send(datagram, lab.now) == Sent::kNotNow) return sent;
      ++next;
    }
    return most;
  }
  static void expect_in_order(const TestProgram& program) {
    for (std::size_t i = 1; i < program.taken.size(); ++i)
      EXPECT_EQ(Psn::diff(psn_of(program.taken[i]), psn_of(program.taken[i - 1])), 1) << i;
  }
  static std::uint64_t lost(const TestProgram& program) {
    return program.count(NodeCounter::kProgramStuck) + program.count(NodeCounter::kProgramFull);
  }

  RunningLab lab{lab_of(kFourNodes)};
  TestProgram a{lab.fabric, "a"};
  TestProgram d{lab.fabric, "d"};
  Psn next{};
};

TEST_F(AttachmentWait, LosesNothingOnTheWayToAProgramThatIsSlowNow) {
  d.room = 10;
  std::size_t sent = 0;
  for (int round = 0; round < 200; ++round) {
    sent += flood(a, d, 100);
    lab.run_for(1ms);
    if (round % 10 == 0) d.take_more(100, lab.now);
  }
  EXPECT_LT(sent, 20'000u) << "the sender was made to wait";
  d.take_more(sent, lab.now);
  lab.run_for(100ms);
  d.take_more(sent, lab.now);
  lab.run_for(100ms);
  EXPECT_THAT(d.taken, SizeIs(sent));
  expect_in_order(d);
  EXPECT_EQ(lost(d), 0u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(AttachmentWait, TellsASenderThatItMaySendAgain) {
  d.room = 0;
  while (flood(a, d, 1000) > 0)
    lab.settle();
  EXPECT_EQ(a.may_sends, 0);
  lab.run_for(10ms);
  EXPECT_EQ(a.may_sends, 0) << "nothing has moved";
  d.take_more(100'000, lab.now);
  lab.settle();
  EXPECT_GE(a.may_sends, 1);
  EXPECT_GT(flood(a, d, 1), 0u);
}

TEST_F(AttachmentWait, MakesASenderWaitOnOneLaneOnly) {
  d.room = 0;
  while (flood(a, d, 1000) > 0)
    lab.settle();
  TestProgram b(lab.fabric, "b");
  EXPECT_EQ(flood(a, b, 1), 0u) << "on the same lane, behind them";
  EXPECT_EQ(flood(a, b, 1, Sl{1}), 1u);
  lab.settle();
  EXPECT_THAT(b.taken, SizeIs(1));
}

TEST_F(AttachmentWait, GivesUpAProgramThatTakesNothingUntilItTakesAgain) {
  d.room = 0;
  EXPECT_EQ(flood(a, d, 5), 5u);
  lab.run_for(kProgramPatience - 1ms);
  EXPECT_EQ(d.count(NodeCounter::kProgramStuck), 0u);
  lab.run_for(2ms);
  EXPECT_EQ(d.count(NodeCounter::kProgramStuck), 5u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
  EXPECT_EQ(flood(a, d, 3), 3u);
  lab.settle();
  EXPECT_EQ(d.count(NodeCounter::kProgramStuck), 8u) << "at once";
  d.take_more(10, lab.now);
  EXPECT_EQ(flood(a, d, 3), 3u);
  lab.settle();
  EXPECT_THAT(d.taken, SizeIs(3));
}

TEST_F(AttachmentWait, GivesUpAProgramThatTakesOnlyNowAndThen) {
  d.room = 0;
  flood(a, d, 100);
  for (int i = 0; i < 5; ++i) {
    lab.run_for(kProgramPatience / 4);
    d.take_more(1, lab.now);
  }
  EXPECT_GE(d.count(NodeCounter::kProgramStuck), 90u) << "all of them waited too long";
}

TEST_F(AttachmentWait, KeepsRoomForOtherProgramsOfThePort) {
  TestProgram neighbour(lab.fabric, "d");
  TestProgram b(lab.fabric, "b");
  d.room = 0;
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(flood(a, d, 100), 100u) << "the sender is not held up";
    EXPECT_EQ(b.send(b.to(neighbour), lab.now), Sent::kTaken);
    lab.settle();
  }
  EXPECT_THAT(neighbour.taken, SizeIs(50)) << "without waiting for the other's patience to end";
  EXPECT_GT(d.count(NodeCounter::kProgramFull), 0u);
}

TEST_F(AttachmentWait, KeepsRoomForOthersHoweverManyAreSlow) {
  std::vector<std::unique_ptr<TestProgram>> slow;
  for (int i = 0; i < 5; ++i) {
    slow.push_back(std::make_unique<TestProgram>(lab.fabric, "d"));
    slow.back()->room = 0;
  }
  for (int round = 0; round < 50; ++round) {
    for (const auto& program : slow)
      EXPECT_EQ(flood(a, *program, 50), 50u);
    EXPECT_EQ(flood(a, d, 1), 1u);
    lab.settle();
  }
  EXPECT_THAT(d.taken, SizeIs(50));
}

TEST_F(AttachmentWait, DropsWhatWaitsForAProgramThatEnds) {
  d.room = 0;
  EXPECT_EQ(flood(a, d, 5), 5u);
  lab.settle();
  d.detach();
  EXPECT_EQ(d.count(NodeCounter::kNoQueuePair), 5u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
  lab.run_for(1s);
}

TEST_F(AttachmentWait, MakesALocalSenderWaitForALocalReceiver) {
  TestProgram near(lab.fabric, "a");
  near.room = 0;
  const std::size_t sent = flood(a, near, 100'000);
  EXPECT_LT(sent, 2000u);
  lab.settle();
  EXPECT_EQ(flood(a, near, 1), 0u);
  near.take_more(100'000, lab.now);
  lab.settle();
  EXPECT_EQ(a.may_sends, 1);
  EXPECT_THAT(near.taken, SizeIs(sent));
  expect_in_order(near);
}

TEST_F(AttachmentWait, MaySendFromInsideOfACall) {
  struct Echo final : Program {
    explicit Echo(RunningLab& running) : lab(running) {}
    void deliver(link::PacketPtr& packet, Time now) override {
      packet.reset();
      if (--left <= 0) return;
      link::PacketPtr answer = lab.fabric.pool().copy(to_itself);
      EXPECT_EQ(attachment->send(answer, qpn, attachment->epoch(), now), Sent::kTaken);
    }
    void may_send(Time) override {}
    void port_changed(bool, Time) override {}
    RunningLab& lab;
    std::unique_ptr<Attachment> attachment;
    Qpn qpn{};
    std::vector<std::byte> to_itself;
    int left = 100'000;
  };
  Echo echo(lab);
  echo.attachment = std::move(*lab.fabric.find_adapter("b")->attach(1, echo));
  echo.qpn = *echo.attachment->allocate();
  const Lid lid = lab.fabric.find_node("b")->port(1).lid();
  echo.to_itself = Datagram{.slid = lid, .dlid = lid, .dest = echo.qpn, .source = echo.qpn}.bytes();
  link::PacketPtr first = lab.fabric.pool().copy(echo.to_itself);
  EXPECT_EQ(echo.attachment->send(first, echo.qpn, echo.attachment->epoch(), lab.now),
            Sent::kTaken);
  for (int turn = 0; turn < 1000 && echo.left > 0; ++turn)
    lab.fabric.run(lab.now, 1000);
  EXPECT_LE(echo.left, 0);
  lab.settle();
}

}  // namespace
}  // namespace weft::fabric
