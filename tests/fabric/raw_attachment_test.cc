// SPDX-License-Identifier: Apache-2.0
// Raw queue pairs of programs on a node that carries a data service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "fabric/raw_service.h"
#include "running_lab.h"
#include "test_program.h"

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr Lid kRawAttachmentServiceLid{0xF};

class RawAttachment : public ::testing::Test {
 protected:
  RawAttachment() {
    lab.bring_up();
    adapter("d").carry_service(entropy);
    for (const char* const name : {"s1", "s2"}) {
      mgmt::ManagedNode& node = *lab.fabric.find_node(name);
      wire::LinearBlock ports = node.linear(0);
      ports.ports.at(kRawAttachmentServiceLid.value()) = ports.ports.at(service.lid().value());
      node.set_linear(0, ports);
      wire::SwitchInfo info = node.switch_info();
      info.linear_top = kRawAttachmentServiceLid;
      node.set_switch_info(info);
    }
  }
  ChannelAdapter& adapter(const std::string& name) { return *lab.fabric.find_adapter(name); }
  // Another raw queue pair of the program.
  Qpn raw(TestProgram& program) {
    const Qpn qpn = *program.attachment().allocate();
    EXPECT_TRUE(program.attachment().make_raw(qpn));
    return qpn;
  }
  Datagram through(std::uint32_t flow = 0) {
    Datagram datagram = a.to(kRawAttachmentServiceLid, Qpn{100 + flow});
    datagram.grh =
        wire::Grh{.sgid = gid_of(adapter("a").port(1)), .dgid = gid_of(adapter("b").port(1))};
    return datagram;
  }
  void send(std::uint32_t flows) {
    for (std::uint32_t flow = 0; flow < flows; ++flow)
      a.send(through(flow), lab.now);
    lab.settle();
  }

  SeededEntropy entropy{Random(5)};
  RunningLab lab{lab_of(kFourNodes)};
  TestProgram a{lab.fabric, "a"};
  TestProgram b{lab.fabric, "b"};
  TestProgram service{lab.fabric, "d"};
  TestProgram other{lab.fabric, "d"};
};

TEST_F(RawAttachment, AreForNodesThatCarryADataServiceOnly) {
  const auto refused = a.attachment().make_raw(a.qpn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::operation_not_permitted);
  EXPECT_EQ(refused.error().message,
            "raw queue pairs are for nodes that carry a data service: the lab file has no "
            "[service.NAME] with at = \"a\"");
  EXPECT_EQ(service.attachment().make_raw(other.qpn).error().code, std::errc::invalid_argument);
  EXPECT_EQ(
      service.attachment().divert(service.qpn, kRawAttachmentServiceLid).error().message,
      "queue pair " + std::to_string(service.qpn.value()) + ": is no raw one of this program's");
  EXPECT_EQ(a.attachment().divert(a.qpn, kRawAttachmentServiceLid).error().code,
            std::errc::invalid_argument);
}

TEST_F(RawAttachment, GetWhatTheyAskForAndSendItOnAsItsSenders) {
  const Qpn qpn = raw(service);
  ASSERT_TRUE(service.attachment().divert(qpn, kRawAttachmentServiceLid));
  Datagram sent = through();
  sent.dest = b.qpn;
  a.send(sent, lab.now);
  lab.settle();
  ASSERT_THAT(service.taken, ElementsAre(sent.bytes()));
  EXPECT_THAT(service.taken_for, ElementsAre(qpn));
  sent.dlid = b.lid();
  EXPECT_EQ(service.send(sent.bytes(), qpn, service.attachment().epoch(), lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(b.taken, ElementsAre(sent.bytes()));
}

// The very same packets from any other queue pair, or program, are lies.
TEST_F(RawAttachment, GiveNobodyElseTheRightToSendAsOthers) {
  const Qpn qpn = raw(service);
  Datagram forged = a.to(b);
  EXPECT_EQ(service.send(forged.bytes(), qpn, service.attachment().epoch(), lab.now), Sent::kTaken);
  EXPECT_EQ(service.send(forged.bytes(), service.qpn, service.attachment().epoch(), lab.now),
            Sent::kForged);
  EXPECT_EQ(other.send(forged.bytes(), qpn, other.attachment().epoch(), lab.now), Sent::kForged);
  // Nor do they send subnet management.
  forged.dest = kQp0;
  EXPECT_EQ(service.send(forged.bytes(), qpn, service.attachment().epoch(), lab.now),
            Sent::kForged);
  lab.settle();
  EXPECT_THAT(b.taken, SizeIs(1));
}

TEST_F(RawAttachment, ShareWhatTheyAskForFlowByFlow) {
  std::map<Qpn, int> found;
  std::map<Qpn, Qpn> queue_of;
  const std::array<std::pair<TestProgram*, Qpn>, 3> all{
      {{&service, raw(service)}, {&service, raw(service)}, {&other, raw(other)}}};
  for (const auto& [program, qpn] : all)
    ASSERT_TRUE(program->attachment().divert(qpn, kRawAttachmentServiceLid));
  send(90);
  send(90);
  for (const TestProgram* program : {&service, &other}) {
    ASSERT_EQ(program->taken.size(), program->taken_for.size());
    for (std::size_t i = 0; i < program->taken.size(); ++i) {
      const Qpn to = program->taken_for[i];
      ++found[to];
      const auto bth = *wire::Bth::parse(Bytes(program->taken[i]).subspan(48));
      EXPECT_EQ(queue_of.try_emplace(bth.dest_qp, to).first->second, to);
    }
  }
  ASSERT_EQ(found.size(), 3u);
  for (const auto& [qpn, packets] : found)
    EXPECT_GT(packets, 20);
  EXPECT_EQ(queue_of.size(), 90u);
}

TEST_F(RawAttachment, LeaveTheirShareToTheOthersAndTheRestToTheEngine) {
  const Qpn first = raw(service);
  const Qpn second = raw(other);
  ASSERT_TRUE(service.attachment().divert(first, kRawAttachmentServiceLid));
  ASSERT_TRUE(other.attachment().divert(second, kRawAttachmentServiceLid));
  ASSERT_TRUE(service.attachment().release(first));
  send(20);
  EXPECT_THAT(service.taken, SizeIs(0));
  EXPECT_THAT(other.taken, SizeIs(20));
  ASSERT_TRUE(other.attachment().restore(second, kRawAttachmentServiceLid));
  EXPECT_EQ(other.attachment().restore(second, kRawAttachmentServiceLid).error().code,
            std::errc::invalid_argument);
  send(1);
  EXPECT_EQ(lab.count("d", NodeCounter::kNotMine), 1u);
  ASSERT_TRUE(other.attachment().divert(second, OtherLids{}));
  other.detach();
  send(1);
  EXPECT_EQ(lab.count("d", NodeCounter::kNotMine), 2u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(RawAttachment, WaitForAProgramThatIsSlowInOrder) {
  const Qpn qpn = raw(service);
  ASSERT_TRUE(service.attachment().divert(qpn, kRawAttachmentServiceLid));
  service.room = 1;
  Datagram plain = a.to(service);
  a.send(through(1), lab.now);
  a.send(through(2), lab.now);
  a.send(plain, lab.now);
  lab.settle();
  EXPECT_THAT(service.taken, SizeIs(1));
  service.take_more(5, lab.now);
  EXPECT_THAT(service.taken, ElementsAre(through(1).bytes(), through(2).bytes(), plain.bytes()));
  EXPECT_THAT(service.taken_for, ElementsAre(qpn, qpn));
}

TEST_F(RawAttachment, ServeWhatTheyAskForUntilTheyAreGone) {
  RawPort& port = **adapter("d").raw_port(1);
  EXPECT_FALSE(port.is_served(kRawAttachmentServiceLid));
  const Qpn first = raw(service);
  const Qpn second = raw(other);
  EXPECT_FALSE(port.is_served(kRawAttachmentServiceLid)) << "nothing comes to them yet";
  std::uint64_t before = port.revision();
  ASSERT_TRUE(service.attachment().divert(first, kRawAttachmentServiceLid));
  EXPECT_TRUE(port.is_served(kRawAttachmentServiceLid));
  EXPECT_GT(port.revision(), before);
  EXPECT_FALSE(port.is_served(Lid{0xE}));
  ASSERT_TRUE(other.attachment().divert(second, OtherLids{}));
  EXPECT_TRUE(port.is_served(Lid{0xE}));
  EXPECT_FALSE(port.is_served(service.lid())) << "that is the port's own";
  before = port.revision();
  other.detach();
  EXPECT_GT(port.revision(), before);
  EXPECT_FALSE(port.is_served(Lid{0xE}));
  EXPECT_TRUE(port.is_served(kRawAttachmentServiceLid));
  service.detach();
  EXPECT_FALSE(port.is_served(kRawAttachmentServiceLid));
}

TEST_F(RawAttachment, ServeALidByGidsOnlyIfTheyAreThoseOfTheWholeSubnet) {
  RawPort& port = **adapter("d").raw_port(1);
  const Qpn qpn = raw(service);
  const GidPrefix one(Gid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, 128);
  ASSERT_TRUE(service.attachment().divert(qpn, one));
  EXPECT_FALSE(port.is_served(kRawAttachmentServiceLid)) << "what is for others finds nobody";
  ASSERT_TRUE(service.attachment().divert(qpn, GidPrefix(0xFE80'0000'0000'0000)));
  EXPECT_TRUE(port.is_served(kRawAttachmentServiceLid));
}

TEST_F(RawAttachment, ServeNothingWhileTheyTakeNothing) {
  RawPort& port = **adapter("d").raw_port(1);
  const Qpn qpn = raw(service);
  ASSERT_TRUE(service.attachment().divert(qpn, kRawAttachmentServiceLid));
  service.room = 0;
  a.send(through(1), lab.now);
  lab.settle();
  EXPECT_TRUE(port.is_served(kRawAttachmentServiceLid)) << "it may yet";
  const std::uint64_t before = port.revision();
  lab.run_for(kProgramPatience);
  EXPECT_FALSE(port.is_served(kRawAttachmentServiceLid));
  EXPECT_GT(port.revision(), before);
  service.take_more(5, lab.now);
  EXPECT_TRUE(port.is_served(kRawAttachmentServiceLid));
}

TEST_F(RawAttachment, AreRefusedWhatAServiceOfTheDaemonHas) {
  class Nobody final : public RawConsumer {
    void take(std::uint16_t, std::span<link::PacketPtr>, Time) override {}
  } nobody;
  const auto place = *RawService::attach(adapter("d"), 1, nobody, {}, entropy);
  ASSERT_TRUE(place->divert(kRawAttachmentServiceLid));
  const Qpn qpn = raw(service);
  EXPECT_EQ(service.attachment().divert(qpn, kRawAttachmentServiceLid).error().code,
            std::errc::file_exists);
}

}  // namespace
}  // namespace weft::fabric
