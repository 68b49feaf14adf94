// SPDX-License-Identifier: Apache-2.0
// A link by datagrams: how two ends find each other, lose each other, and whom they believe.
#include "carrier/datagram_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datagram_world.h"

namespace weft::carrier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Counter = DatagramCounter;

std::uint64_t count(const DatagramChannel& channel, Counter counter) {
  return channel.counters().get(counter);
}

std::vector<std::byte> hello(std::uint64_t echo, std::uint64_t own, std::uint64_t link = 1) {
  std::vector<std::byte> out(DatagramHead::kSize + Hello::kSize);
  DatagramHead{.kind = DatagramKind::kHello, .key = echo}.write(out);
  Hello{.own_key = own, .link = link, .wants_answer = true}.write(
      MutableBytes(out).subspan(DatagramHead::kSize));
  return out;
}

std::vector<std::byte> plain(DatagramKind kind, std::uint64_t key, std::size_t contents = 0) {
  std::vector<std::byte> out(DatagramHead::kSize + contents);
  DatagramHead{.kind = kind, .key = key}.write(out);
  return out;
}

// The key by which each side wants to be addressed, as hellos have told it last.
struct Spy {
  explicit Spy(DatagramWorld& world) {
    world.watch = [this](std::size_t to, Bytes bytes) {
      const auto datagram = Datagram::parse(bytes);
      ASSERT_TRUE(datagram);
      if (datagram->head.kind == DatagramKind::kHello) own_key[1 - to] = datagram->hello.own_key;
      if (datagram->head.kind != DatagramKind::kHello) key_of[to] = datagram->head.key;
      ++kinds[static_cast<int>(datagram->head.kind)];
      last[to].assign(bytes.begin(), bytes.end());
    };
  }
  std::array<std::uint64_t, 2> own_key{}, key_of{};
  std::array<std::vector<std::byte>, 2> last;
  std::map<int, int> kinds;
};

TEST(DatagramChannel, IsALinkThatASubnetManagerBringsUp) {
  DatagramWorld world(1);
  world.run_for(10ms);
  EXPECT_EQ(world.rig().a.port.state(), PortState::kInitialize);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kInitialize);
  ASSERT_TRUE(world.activate());
  world.rig().send(world.rig().a, {.number = 1});
  world.rig().send(world.rig().b, {.number = 2});
  world.run_for(10ms);
  EXPECT_THAT(world.rig().b.numbers, ElementsAre(1));
  EXPECT_THAT(world.rig().a.numbers, ElementsAre(2));
}

TEST(DatagramChannel, SaysAtEachConnectionWhatThePortLetsTheLinkTrainTo) {
  DatagramWorld world(1);
  world.rig().b_training.own = {.widths = 1, .speeds = 3, .extended_speeds = 0};
  world.run_for(10ms);
  EXPECT_EQ(world.rig().a_training.far, world.rig().b_training.own);
  EXPECT_EQ(world.rig().b_training.far, world.rig().a_training.own);
  world.rig().a_training.own.widths = 2;
  world.rig().left.set_plugged(false, world.rig().now());
  world.run_for(10ms);
  world.rig().left.set_plugged(true, world.rig().now());
  world.run_for(1s);
  EXPECT_EQ(world.rig().b_training.far.widths, 2);
}

TEST(DatagramChannel, WaitsForAPartThatStartsLater) {
  DatagramWorld world(1);
  world.kill(1);
  world.run_for(10s);
  EXPECT_EQ(world.rig().a.port.state(), PortState::kDown);
  world.start(1);
  world.run_for(10ms);
  EXPECT_EQ(world.rig().a.port.state(), PortState::kInitialize);
}

TEST(DatagramChannel, IsQuietWhenNothingHappens) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  Spy spy(world);
  world.run_for(60s);
  const int heartbeats = spy.kinds[static_cast<int>(DatagramKind::kHeartbeat)];
  EXPECT_GE(heartbeats, 200);
  EXPECT_LE(heartbeats, 242);
  EXPECT_EQ(spy.kinds.size(), 1) << "and nothing but heartbeats";
  EXPECT_EQ(world.rig().a.port.state(), PortState::kActive);
}

TEST(DatagramChannel, GoesDownAtOnceWithAGoodbye) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  world.rig().left.set_plugged(false, world.now());
  world.run_for(2ms);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kDown);
  world.rig().left.set_plugged(true, world.now());
  EXPECT_TRUE(world.activate());
}

TEST(DatagramChannel, GoesDownWhenTheOtherEndIsSilent) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  world.weather.loss = 1;
  world.run_for(2s);
  EXPECT_EQ(world.rig().a.port.state(), PortState::kActive);
  world.run_for(1500ms);
  EXPECT_EQ(world.rig().a.port.state(), PortState::kDown);
  EXPECT_EQ(count(world.channel(0), Counter::kSilences), 1);
  world.weather.loss = 0;
  EXPECT_TRUE(world.activate());
}

TEST(DatagramChannel, WhichWasStoppedItselfDoesNotBlameTheOtherEnd) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  world.stop(0, true);
  world.stop(1, true);
  world.run_for(60s);
  world.stop(0, false);
  world.stop(1, false);
  world.run_for(5s);
  EXPECT_EQ(world.rig().a.port.state(), PortState::kActive);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kActive);
}

TEST(DatagramChannel, BeginsAnewWithAPartThatWasKilledAndCameBackAtOnce) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  const auto downs = link::count(world.rig().a.port, link::PortCounter::kLinkDowned);
  world.kill_and_restart(1);
  world.run_for(50ms);
  EXPECT_EQ(link::count(world.rig().a.port, link::PortCounter::kLinkDowned), downs + 1);
  ASSERT_TRUE(world.activate());
  world.rig().send(world.rig().a, {.number = 5});
  world.run_for(10ms);
  EXPECT_THAT(world.rig().b.numbers, ElementsAre(5));
}

TEST(DatagramChannel, ComesUpWhenTheLastHelloIsLost) {
  DatagramWorld world(1);
  int hellos = 0;
  bool lost = false;
  world.watch = [&](std::size_t, Bytes bytes) {
    // The one that answers, and all that is said in the connection that only one end knows of.
    const auto datagram = Datagram::parse(bytes);
    hellos += datagram->head.kind == DatagramKind::kHello ? 1 : 0;
    lost = lost || (datagram->head.kind == DatagramKind::kHello && !datagram->hello.wants_answer);
    world.weather.loss = lost && hellos < 6 ? 1 : 0;
  };
  world.run_for(2s);
  EXPECT_TRUE(lost);
  EXPECT_EQ(world.rig().a.port.state(), PortState::kInitialize);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kInitialize);
}

TEST(DatagramChannel, DropsWhatIsLateOrDoubledAndCountsIt) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  world.run_for(1s);
  Spy spy(world);
  world.rig().send(world.rig().a, {.number = 1});
  world.run_for(0ns);
  const auto first = spy.last[1];
  world.run_for(10ms);
  world.inject(1, first);
  auto late = first;
  late[15] = std::byte{static_cast<std::uint8_t>(std::to_integer<int>(late[15]) + 5)};
  world.inject(1, late);  // it is taken for a later one
  world.run_for(10ms);
  EXPECT_EQ(count(world.channel(1), Counter::kDuplicate), 1);
  EXPECT_GE(count(world.channel(1), Counter::kMissing), 4);
  world.rig().send(world.rig().a, {.number = 2});
  world.run_for(10ms);
  EXPECT_THAT(world.rig().b.numbers, ElementsAre(1, 1)) << "number 2 has come too late";
  EXPECT_GE(count(world.channel(1), Counter::kLate), 1);
}

TEST(DatagramChannel, HealsCreditsThatWereLost) {
  DatagramWorld world(7);
  ASSERT_TRUE(world.activate());
  world.weather.loss = 0.2;
  for (std::uint32_t i = 0; i < 2000; ++i)
    world.rig().send(world.rig().a, {.payload = 1024, .number = i});
  world.run_for(5s);
  world.weather.loss = 0;
  world.run_for(5s);
  EXPECT_EQ(world.rig().a.port.backlog(Vl{0}), 0) << "the sender has got all its credit back";
  EXPECT_GT(world.rig().b.numbers.size(), 1200);
  EXPECT_EQ(link::count(world.rig().b.port, link::PortCounter::kRxOverrun), 0);
}

TEST(DatagramChannel, BelievesNoHelloThatDoesNotKnowItsKey) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  for (std::uint64_t i = 1; i < 100; ++i) {
    world.inject(0, hello(0, i));
    world.inject(0, hello(i, i));
    world.run_for(20ms);
  }
  EXPECT_EQ(world.rig().a.port.state(), PortState::kActive);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kActive);
  EXPECT_EQ(link::count(world.rig().a.port, link::PortCounter::kLinkDowned), 0);
  EXPECT_EQ(link::count(world.rig().b.port, link::PortCounter::kLinkDowned), 0);
  EXPECT_GE(count(world.channel(0), Counter::kUnproven), 99);
}

TEST(DatagramChannel, TakesNothingWithoutItsKey) {
  DatagramWorld world(1);
  ASSERT_TRUE(world.activate());
  const auto packet = link::make_packet({.number = 77});
  auto forged = plain(DatagramKind::kPacket, 12345, packet.size());
  std::copy(packet.begin(), packet.end(), forged.begin() + DatagramHead::kSize);
  world.inject(1, forged);
  world.inject(1, plain(DatagramKind::kGoodbye, 12345));
  world.run_for(10ms);
  EXPECT_THAT(world.rig().b.numbers, IsEmpty());
  EXPECT_EQ(world.rig().b.port.state(), PortState::kActive);
  EXPECT_EQ(world.peer(1).counters().get(PeerCounter::kUnknownKey), 2);
}

TEST(DatagramChannel, TakesNothingOfAnEarlierConnection) {
  DatagramWorld world(1);
  Spy spy(world);
  ASSERT_TRUE(world.activate());
  const std::uint64_t old_key = spy.key_of[1];
  world.rig().right.set_plugged(false, world.now());
  world.rig().right.set_plugged(true, world.now());
  world.run_for(10ms);
  ASSERT_TRUE(world.activate());
  EXPECT_NE(spy.key_of[1], old_key);
  world.inject(1, plain(DatagramKind::kGoodbye, old_key));
  world.run_for(10ms);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kActive);
}

TEST(DatagramChannel, CountsHellosForLinksThatThereAreNot) {
  DatagramWorld world(1);
  world.inject(0, hello(0, 5, 99));
  world.inject(0, std::vector<std::byte>(40, std::byte{1}));
  world.run_for(1ms);
  EXPECT_EQ(world.peer(0).counters().get(PeerCounter::kUnknownLink), 1);
  EXPECT_EQ(world.peer(0).counters().get(PeerCounter::kMalformed), 1);
}

TEST(DatagramChannel, DoesNotAnswerWhileItsPortIsDisabled) {
  DatagramWorld world(1);
  world.rig().a.port.set_physical_state(link::PortPhysicalState::kDisabled, world.now());
  world.run_for(1s);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kDown);
  EXPECT_GE(count(world.channel(0), Counter::kUnsought), 4);
  world.rig().a.port.set_physical_state(link::PortPhysicalState::kPolling, world.now());
  world.run_for(1s);
  EXPECT_EQ(world.rig().b.port.state(), PortState::kInitialize);
}

TEST(DatagramChannel, KnowsAboutHowFarTheOtherEndIs) {
  DatagramWorld world(1);
  world.weather.delay = 30ms;
  world.run_for(1s);
  EXPECT_GE(world.channel(0).round_trip(), 30ms);
  EXPECT_LE(world.channel(0).round_trip(), 60ms);
}

TEST(DatagramPeer, KeepsTheLinksOfAPartApart) {
  DatagramWorld world(3, 3);
  ASSERT_TRUE(world.activate());
  for (std::uint32_t link = 0; link < 3; ++link)
    world.rig(link).send(world.rig(link).a, {.number = link});
  world.run_for(10ms);
  for (std::uint32_t link = 0; link < 3; ++link)
    EXPECT_THAT(world.rig(link).b.numbers, ElementsAre(link));
  world.rig(1).left.set_plugged(false, world.now());
  world.run_for(10ms);
  EXPECT_EQ(world.rig(0).b.port.state(), PortState::kActive);
  EXPECT_EQ(world.rig(1).b.port.state(), PortState::kDown);
}

TEST(LinkNumber, IsOfTheWholeDescription) {
  EXPECT_EQ(link_number("lab a:1 b:2"), link_number("lab a:1 b:2"));
  EXPECT_NE(link_number("lab a:1 b:2"), link_number("lab a:1 b:3"));
}

}  // namespace
}  // namespace weft::carrier
