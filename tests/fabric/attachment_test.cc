// SPDX-License-Identifier: Apache-2.0
#include "fabric/attachment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "running_lab.h"
#include "test_program.h"

namespace weft::fabric {
namespace {

using ::testing::SizeIs;

class AttachmentTest : public ::testing::Test {
 protected:
  AttachmentTest() { lab.bring_up(); }

  NodePort& port(const std::string& name) { return lab.fabric.find_node(name)->port(1); }
  mgmt::ManagedNode& managed(const std::string& name) { return *lab.fabric.find_node(name); }
  RunningLab lab{lab_of(kFourNodes)};
  const Gid group{std::array<std::uint8_t, 16>{0xFF, 0x12, 0xA0, 0x1B, 5}};
};

TEST_F(AttachmentTest, CarriesAPacketUnchangedButForItsLaneFromProgramToProgram) {
  TestProgram a(lab.fabric, "a");
  TestProgram d(lab.fabric, "d");
  const Datagram datagram = a.to(d);
  EXPECT_EQ(a.send(datagram, lab.now), Sent::kTaken);
  lab.settle();
  ASSERT_THAT(d.taken, SizeIs(1));
  EXPECT_EQ(d.taken[0], datagram.bytes());
  EXPECT_EQ(a.count(NodeCounter::kSent), 1u);
  EXPECT_EQ(d.count(NodeCounter::kDelivered), 1u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(AttachmentTest, PutsAPacketOnTheLaneOfItsServiceLevel) {
  TestProgram a(lab.fabric, "a");
  TestProgram b(lab.fabric, "b");
  Datagram datagram = a.to(b);
  datagram.sl = Sl{3};
  EXPECT_EQ(a.send(datagram, lab.now), Sent::kTaken);
  lab.settle();
  datagram.vl = Vl{3};
  ASSERT_THAT(b.taken, SizeIs(1));
  EXPECT_EQ(b.taken[0], datagram.bytes());
}

TEST_F(AttachmentTest, HandsOutEachNumberOnceAndAReleasedOneAsLateAsCanBe) {
  TestProgram first(lab.fabric, "a");
  TestProgram second(lab.fabric, "a");
  std::set<Qpn> seen{first.qpn, second.qpn};
  for (int i = 0; i < 100; ++i) {
    const auto qpn = (i % 2 == 0 ? first : second).attachment().allocate();
    ASSERT_TRUE(qpn);
    EXPECT_TRUE(seen.insert(*qpn).second);
    const bool released =
        i % 3 != 0 || (i % 2 == 0 ? first : second).attachment().release(*qpn).has_value();
    EXPECT_TRUE(released);
  }
  EXPECT_FALSE(seen.contains(kQp0) || seen.contains(kQp1) || seen.contains(kMulticastQpn));
}

TEST_F(AttachmentTest, LetsAProgramHaveSoManyNumbersAndNoMore) {
  TestProgram a(lab.fabric, "a");
  for (std::size_t i = 1; i < kMostQueuePairs; ++i)
    ASSERT_TRUE(a.attachment().allocate());
  const auto more = a.attachment().allocate();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, std::errc::not_enough_memory);
  EXPECT_TRUE(a.attachment().release(a.qpn));
  EXPECT_TRUE(a.attachment().allocate());
}

TEST_F(AttachmentTest, ReleasesOnlyWhatIsTheProgramsOwn) {
  TestProgram a(lab.fabric, "a");
  TestProgram other(lab.fabric, "a");
  EXPECT_FALSE(a.attachment().release(other.qpn));
  EXPECT_FALSE(a.attachment().release(Qpn{77}));
  EXPECT_TRUE(a.attachment().release(a.qpn));
  EXPECT_FALSE(a.attachment().release(a.qpn));
}

TEST_F(AttachmentTest, RefusesAPortThatTheAdapterDoesNotHave) {
  TestProgram a(lab.fabric, "a");
  EXPECT_FALSE(lab.fabric.find_adapter("a")->attach(2, a));
  EXPECT_FALSE(lab.fabric.find_adapter("a")->attach(0, a));
  EXPECT_EQ(lab.fabric.find_adapter("s1"), nullptr);
  EXPECT_EQ(lab.fabric.find_adapter("nobody"), nullptr);
}

TEST(QueuePairTable, BeginsAgainAfterTheLastNumberAndSkipsTheReservedOnes) {
  RunningLab lab(lab_of(kFourNodes), {.first_qpn = Qpn{0xFFFFFD}});
  TestProgram a(lab.fabric, "a");
  EXPECT_EQ(a.qpn, Qpn{0xFFFFFD});
  EXPECT_EQ(*a.attachment().allocate(), Qpn{0xFFFFFE});
  EXPECT_EQ(*a.attachment().allocate(), Qpn{2});
  for (const Qpn first : {kQp0, kQp1, kMulticastQpn}) {
    RunningLab other(lab_of(kFourNodes), {.first_qpn = first});
    EXPECT_EQ(TestProgram(other.fabric, "a").qpn, Qpn{2});
  }
}

TEST_F(AttachmentTest, DropsAndCountsWhatComesForNobody) {
  TestProgram a(lab.fabric, "a");
  TestProgram d(lab.fabric, "d");
  Datagram datagram = a.to(d);
  datagram.dest = Qpn{4711};
  EXPECT_EQ(a.send(datagram, lab.now), Sent::kTaken);
  const Datagram late = a.to(d);
  d.detach();
  EXPECT_EQ(a.send(late, lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_EQ(d.count(NodeCounter::kNoQueuePair), 2u);
}

constexpr const char* kTwoPorts = R"(
[switch]
s = { ports = 4 }
[node]
a = {}
d = { ports = 2 }
[[link]]
ends = ["a:1", "s:1"]
[[link]]
ends = ["d:1", "s:2"]
[[link]]
ends = ["d:2", "s:3"]
)";

class TwoPorts : public ::testing::Test {
 protected:
  TwoPorts() { lab.bring_up(); }
  RunningLab lab{lab_of(kTwoPorts)};
  const Gid group{std::array<std::uint8_t, 16>{0xFF, 0x12, 0xA0, 0x1B, 5}};
};

TEST_F(TwoPorts, GiveAProgramOnOneNothingOfTheOther) {
  TestProgram a(lab.fabric, "a");
  TestProgram on_second(lab.fabric, "d", 2);
  const Lid first = lab.fabric.find_node("d")->port(1).lid();
  EXPECT_EQ(a.send(a.to(first, on_second.qpn), lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(on_second.taken, SizeIs(0));
  EXPECT_EQ(lab.count("d", NodeCounter::kNoQueuePair), 1u);
}

TEST_F(TwoPorts, HandAQueuePairOverWithItsGroups) {
  TestProgram a(lab.fabric, "a");
  TestProgram first(lab.fabric, "d", 1);
  TestProgram second(lab.fabric, "d", 2);
  const Qpn moved = first.qpn;
  const Datagram late = first.to(a);
  ASSERT_TRUE(first.attachment().join(moved, group));
  ASSERT_TRUE(first.attachment().hand_over(moved, second.attachment()));
  EXPECT_FALSE(first.attachment().owns(moved));
  EXPECT_TRUE(second.attachment().owns(moved));

  EXPECT_EQ(a.send(a.to(second.lid(), moved), lab.now), Sent::kTaken);
  EXPECT_EQ(a.send(a.to(first.lid(), moved), lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(second.taken, SizeIs(1));
  EXPECT_THAT(first.taken, SizeIs(0));
  // It leaves by the other port now; what was on its way before is no forgery.
  EXPECT_EQ(
      second.send(
          Datagram{.slid = second.lid(), .dlid = a.lid(), .dest = a.qpn, .source = moved}.bytes(),
          moved, second.attachment().epoch(), lab.now),
      Sent::kTaken);
  EXPECT_EQ(first.send(late, lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(a.taken, SizeIs(1));
  EXPECT_EQ(first.count(NodeCounter::kOutdated), 1u);
  // The groups went with it, and go with its end.
  EXPECT_FALSE(first.attachment().leave(moved, group));
  EXPECT_TRUE(second.attachment().leave(moved, group));
  EXPECT_TRUE(second.attachment().release(moved));
  EXPECT_NE(lab.fabric.find_adapter("d"), nullptr);
}

TEST_F(TwoPorts, KeepAQueuePairThatCannotBeHandedOver) {
  TestProgram first(lab.fabric, "d", 1);
  TestProgram second(lab.fabric, "d", 2);
  EXPECT_FALSE(first.attachment().hand_over(second.qpn, second.attachment())) << "not its own";
  while (second.attachment().allocate()) {
  }
  EXPECT_FALSE(first.attachment().hand_over(first.qpn, second.attachment())) << "too many";
  EXPECT_TRUE(first.attachment().owns(first.qpn));
  TestProgram a(lab.fabric, "a");
  EXPECT_EQ(a.send(a.to(first), lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(first.taken, SizeIs(1));
}

TEST_F(AttachmentTest, DropsCountsAndReportsAPartitionThatThePortIsNotIn) {
  TestProgram a(lab.fabric, "a");
  TestProgram d(lab.fabric, "d");
  wire::PKeyBlock keys;
  keys.pkeys[0] = PKey{0x8001};
  managed("d").set_pkeys(1, 0, keys);
  EXPECT_EQ(a.send(a.to(d), lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(d.taken, SizeIs(0));
  EXPECT_EQ(d.count(NodeCounter::kBadPKey), 1u);
  EXPECT_EQ(managed("d").port_info(1).pkey_violations, 1u);
}

TEST_F(AttachmentTest, LoopsBackWhatAPortSendsToItself) {
  TestProgram first(lab.fabric, "a");
  TestProgram second(lab.fabric, "a");
  const auto on_the_link = [&] {
    return port("a").link().counters().get(link::PortCounter::kTxPackets);
  };
  const auto before = on_the_link();
  EXPECT_EQ(first.send(first.to(second), lab.now), Sent::kTaken);
  EXPECT_EQ(first.send(first.to(first), lab.now), Sent::kTaken);
  EXPECT_THAT(second.taken, SizeIs(0)) << "not on the sender's stack";
  lab.settle();
  EXPECT_THAT(first.taken, SizeIs(1));
  EXPECT_THAT(second.taken, SizeIs(1));
  EXPECT_EQ(first.count(NodeCounter::kLooped), 2u);
  EXPECT_EQ(on_the_link(), before);
}

TEST_F(AttachmentTest, GivesMulticastToEveryMemberOnTheFabricAndOnTheSendersPort) {
  TestProgram a(lab.fabric, "a");
  TestProgram near(lab.fabric, "a");
  TestProgram not_in_it(lab.fabric, "a");
  TestProgram d1(lab.fabric, "d");
  TestProgram d2(lab.fabric, "d");
  for (TestProgram* program : {&near, &d1, &d2})
    ASSERT_TRUE(program->attachment().join(program->qpn, group));
  wire::MulticastBlock masks;
  masks.masks[0] = 1u << 1 | 1u << 2 | 1u << 4;
  managed("s1").set_multicast(0, 0, masks);
  managed("s2").set_multicast(0, 0, masks);
  Datagram datagram = a.to(Lid{0xC000}, kMulticastQpn);
  datagram.grh = wire::Grh{.sgid = gid_of(port("a")), .dgid = group};
  EXPECT_EQ(a.send(datagram, lab.now), Sent::kTaken);
  lab.settle();
  for (TestProgram* program : {&near, &d1, &d2}) {
    ASSERT_THAT(program->taken, SizeIs(1));
    EXPECT_EQ(program->taken[0], datagram.bytes());
  }
  EXPECT_THAT(a.taken, SizeIs(0));
  EXPECT_THAT(not_in_it.taken, SizeIs(0));
  EXPECT_EQ(lab.count("b", NodeCounter::kNoQueuePair), 1u);
  ASSERT_TRUE(d1.attachment().leave(d1.qpn, group));
  EXPECT_EQ(a.send(datagram, lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(d1.taken, SizeIs(1));
  EXPECT_THAT(d2.taken, SizeIs(2));
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(AttachmentTest, GivesAProgramOnePacketHoweverManyOfItsQueuePairsAreInTheGroup) {
  TestProgram a(lab.fabric, "a");
  const Qpn second = *a.attachment().allocate();
  ASSERT_TRUE(a.attachment().join(a.qpn, group));
  ASSERT_TRUE(a.attachment().join(a.qpn, group)) << "joining twice is joining once";
  ASSERT_TRUE(a.attachment().join(second, group));
  Datagram datagram = a.to(Lid{0xC000}, kMulticastQpn);
  datagram.grh = wire::Grh{.sgid = gid_of(port("a")), .dgid = group};
  const auto taken = [&] {
    a.taken.clear();
    EXPECT_EQ(a.send(datagram, lab.now), Sent::kTaken);
    lab.settle();
    return a.taken.size();
  };
  EXPECT_EQ(taken(), 1u);
  ASSERT_TRUE(a.attachment().leave(a.qpn, group));
  EXPECT_EQ(taken(), 1u);
  ASSERT_TRUE(a.attachment().release(second)) << "leaves its groups too";
  EXPECT_EQ(taken(), 0u);
}

TEST_F(AttachmentTest, RefusesMembershipsThatCannotBe) {
  TestProgram a(lab.fabric, "a");
  EXPECT_FALSE(a.attachment().join(Qpn{77}, group));
  EXPECT_FALSE(a.attachment().join(a.qpn, Gid{}));
  EXPECT_FALSE(a.attachment().leave(a.qpn, group));
  ASSERT_TRUE(a.attachment().join(a.qpn, group));
  EXPECT_TRUE(a.attachment().leave(a.qpn, group));
  EXPECT_FALSE(a.attachment().leave(a.qpn, group));
}

TEST_F(AttachmentTest, LetsAProgramHaveSoManyMembershipsAndNoMore) {
  TestProgram a(lab.fabric, "a");
  const auto numbered = [](std::size_t i) {
    return Gid{std::array<std::uint8_t, 16>{0xFF, 0x12, static_cast<std::uint8_t>(i >> 8),
                                            static_cast<std::uint8_t>(i)}};
  };
  for (std::size_t i = 0; i < kMostJoins; ++i)
    ASSERT_TRUE(a.attachment().join(a.qpn, numbered(i)));
  const auto more = a.attachment().join(a.qpn, numbered(kMostJoins));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, std::errc::not_enough_memory);
  EXPECT_TRUE(a.attachment().join(a.qpn, numbered(0))) << "it is a member already";
}

TEST_F(AttachmentTest, TellsProgramsOfEveryChangeOfThePortOnce) {
  TestProgram a(lab.fabric, "a");
  const std::uint32_t before = a.attachment().epoch();
  wire::PortInfo info = managed("a").port_info(1);
  managed("a").set_port_info(1, info, lab.now);
  lab.settle();
  EXPECT_EQ(a.changes, 0) << "nothing is another";
  info.master_sm_lid = Lid{9};
  managed("a").set_port_info(1, info, lab.now);
  wire::PKeyBlock keys;
  keys.pkeys[0] = kDefaultPKey;
  keys.pkeys[1] = PKey{0x8123};
  managed("a").set_pkeys(1, 0, keys);
  wire::GuidBlock guids = managed("a").guids(1, 0);
  guids.guids[1] = Guid{0x1234};
  managed("a").set_guids(1, 0, guids);
  EXPECT_GT(a.attachment().epoch(), before);
  lab.settle();
  EXPECT_EQ(a.changes, 1) << "several changes come as one";
  info.client_reregister = true;
  managed("a").set_port_info(1, info, lab.now);
  lab.settle();
  EXPECT_EQ(a.changes, 2);
  EXPECT_EQ(a.reregisters, 1);
  lab.fabric.link(0).set_plugged(false, lab.now);
  lab.settle();
  EXPECT_EQ(a.changes, 3);
}

TEST_F(AttachmentTest, DropsWhatIsSentWhileThePortIsNotActive) {
  TestProgram a(lab.fabric, "a");
  TestProgram d(lab.fabric, "d");
  lab.fabric.link(0).set_plugged(false, lab.now);
  lab.settle();
  EXPECT_EQ(a.send(a.to(d), lab.now), Sent::kTaken);
  Datagram without_lid = a.to(d);
  without_lid.slid = Lid{};
  EXPECT_EQ(a.send(without_lid, lab.now), Sent::kTaken);
  EXPECT_EQ(a.send(a.to(a), lab.now), Sent::kTaken) << "to itself neither";
  lab.settle();
  EXPECT_THAT(d.taken, SizeIs(0));
  EXPECT_THAT(a.taken, SizeIs(0));
  EXPECT_EQ(port("a").link().counters().get(link::PortCounter::kTxInactive), 3u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(AttachmentTest, LetsWhatAProgramHasSentArriveAfterItsEnd) {
  TestProgram d(lab.fabric, "d");
  lab.fabric.link(0).set_emulation({.delay = 1ms}, lab.now);
  {
    TestProgram a(lab.fabric, "a");
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(a.send(a.to(d), lab.now), Sent::kTaken);
  }
  lab.run_for(10ms);
  EXPECT_THAT(d.taken, SizeIs(5));
}

}  // namespace
}  // namespace weft::fabric
