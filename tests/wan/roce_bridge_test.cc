// SPDX-License-Identifier: Apache-2.0
#include "wan/roce/roce_bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "../link/rig.h"
#include "host_frames.h"
#include "wire/ip.h"
#include "wire/roce_frame.h"

namespace weft::wan::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
// The bridges of two sites, whose tunnel is a link, and one further site.
class Bridge final : public RoceUser {
 public:
  Bridge(link::PacketPool& pool, const RoceOptions& options, std::size_t sites)
      : bridge(options, pool, *this) {
    for (std::size_t i = 0; i < sites; ++i)
      bridge.add_site();
  }
  MutableBytes room() override { return full ? MutableBytes{} : MutableBytes(room_); }
  void put(Bytes frame) override { came.emplace_back(frame.begin(), frame.end()); }
  void wake() override { woken = true; }
  std::uint64_t count(RoceCounter counter) const { return bridge.counters().get(counter); }

  std::vector<Frame> came;
  bool full = false;
  bool woken = false;
  RoceBridge bridge;

 private:
  std::array<std::byte, kLongestRawPacket> room_{};
};

class RoceBridgeTest : public ::testing::Test {
 protected:
  RoceBridgeTest() {
    links[0].join(west.bridge.site(0), east.bridge.site(0), now);
    links[1].join(west.bridge.site(1), north.bridge.site(0), now);
    settle();
  }
  ~RoceBridgeTest() override {
    for (Bridge* const bridge : {&west, &east, &north})
      bridge->full = false;
    settle();
    west.bridge.site(1).connect(nullptr, now);
    for (Bridge* const bridge : {&west, &east, &north})
      bridge->bridge.site(0).connect(nullptr, now);
    EXPECT_EQ(pool.in_use(), 0u);
  }
  void settle() {
    for (bool again = true; again;) {
      again = false;
      for (Bridge* const bridge : {&west, &east, &north}) {
        if (!std::exchange(bridge->woken, false)) continue;
        bridge->bridge.run(now);
        again = true;
      }
    }
  }
  void send(Bridge& from, const Frame& frame) {
    from.bridge.from_hosts(frame, now);
    settle();
  }
  void clear() {
    for (Bridge* const bridge : {&west, &east, &north})
      bridge->came.clear();
  }
  // Hosts of west and east have found each other.
  void meet() {
    send(west, question(kOurs));
    send(east, question(kTheirs, kOurs));
    clear();
  }

  static constexpr RoceOptions kOptions{.port = {.data_vls = 8, .vl_buffer = 128},
                                        .stations = {.most = 8},
                                        .marked = 4,
                                        .most = 8,
                                        .questions = 5};
  BufferPool payloads{link::PacketPool::kPayloadBlock, 1000};
  link::PacketPool pool{1000, payloads};
  Time now{1s};
  std::array<link::DirectLink, 2> links{link::DirectLink(pool), link::DirectLink(pool)};
  Bridge west{pool, kOptions, 2}, east{pool, kOptions, 1}, north{pool, kOptions, 1};
};

TEST_F(RoceBridgeTest, AsksAllOtherSitesAndAnswersTheOneThatAsked) {
  send(west, question(kOurs));
  Frame asked = question(kOurs);
  asked.resize(42);
  EXPECT_THAT(east.came, ElementsAre(asked));
  EXPECT_THAT(north.came, ElementsAre(asked));
  EXPECT_THAT(west.came, IsEmpty());
  clear();
  send(east, question(kTheirs, kOurs));
  EXPECT_EQ(west.came.size(), 1u);
  EXPECT_THAT(north.came, IsEmpty()) << "what comes from one site goes to no other";
  clear();
  send(west, solicitation(kOurs));
  EXPECT_THAT(east.came, ElementsAre(solicitation(kOurs)));
}

TEST_F(RoceBridgeTest, CarriesPacketsOfTheKernelsDriverUnchanged) {
  meet();
  std::size_t packets = 0;
  for (auto& [where, frame] : wire::test::roce_frames()) {
    put_macs(frame, kOurs, kTheirs);
    send(west, frame);
    ASSERT_EQ(east.came.size(), 1u) << where;
    EXPECT_EQ(east.came[0], frame) << where;
    east.came.clear();
    ++packets;
  }
  EXPECT_GT(packets, 900u);
  EXPECT_THAT(north.came, IsEmpty());
}

TEST_F(RoceBridgeTest, LeavesAllOtherTrafficAlone) {
  meet();
  Frame other = rxe_frame("rc-atomic.pcap", kOurs, kTheirs);
  wire::store_be16(other.data() + 14 + 20 + 2, 4790);
  send(west, other);
  other = solicitation(kOurs);
  wire::store_u8(other.data() + 54, 128);  // an echo request
  send(west, other);
  EXPECT_EQ(west.count(RoceCounter::kOther), 2u);
  other = solicitation(kOurs);
  wire::store_u8(other.data() + 21, 64);  // from another network
  send(west, other);
  other = question(kOurs);
  other.resize(41);
  send(west, other);
  send(west, Frame(13));
  send(west, question({1, 0, 0, 0, 0, 1}));  // of a group
  EXPECT_EQ(west.count(RoceCounter::kMalformed), 4u);
  send(west, rxe_frame("rc-atomic.pcap", kOurs, kOthers));
  EXPECT_EQ(west.count(RoceCounter::kUnknown), 1u);
  send(west, question(kOthers, kOurs));
  EXPECT_EQ(west.count(RoceCounter::kHere), 1u);
  EXPECT_THAT(east.came, IsEmpty());
}

TEST_F(RoceBridgeTest, TellsHostsToSendLessBeforeItDropsWhatTheySend) {
  meet();
  east.full = true;
  Frame frame = rxe_frame("rc-all-1024-ip6.pcap", kOurs, kTheirs);
  wire::store_u8(frame.data() + 15, wire::load_u8(frame.data() + 15) | wire::kEcnCapable << 4);
  // Until east's port has no room, all goes on.
  while (west.count(RoceCounter::kTooMuch) == 0) {
    west.bridge.from_hosts(frame, now);
    settle();
    ASSERT_LT(west.count(RoceCounter::kOut), 200u);
  }
  EXPECT_EQ(west.count(RoceCounter::kMarked), 4u);
  east.full = false;
  east.bridge.run(now);
  settle();
  ASSERT_EQ(east.came.size(), west.count(RoceCounter::kOut));
  EXPECT_EQ(east.came.front(), frame);
  const auto marked = wire::parse_ethernet(east.came.back());
  EXPECT_EQ(marked->datagram.traffic_class & wire::kEcnBits, wire::kCongestionExperienced);
  EXPECT_TRUE(wire::check_icrc(*marked));
}

TEST_F(RoceBridgeTest, GivesEachClassOfServiceALaneAsFarAsThereAreSoMany) {
  meet();
  for (const unsigned traffic_class : {0u, 0x20u, 0x68u, 0xE0u}) {
    Frame frame = rxe_frame("rc-all-1024-ip6.pcap", kOurs, kTheirs);
    wire::store_be16(frame.data() + 14, static_cast<std::uint16_t>(0x6000 | traffic_class << 4));
    east.full = true;
    send(west, frame);
    const std::uint32_t used =
        2048 - east.bridge.site(0).receive_room(Vl{static_cast<std::uint8_t>(traffic_class >> 5)});
    EXPECT_GT(used, 0u) << traffic_class;
    east.full = false;
    east.bridge.run(now);
    settle();
  }
}

TEST_F(RoceBridgeTest, BelievesNoSiteThatAHostOfAnotherPlaceIsThere) {
  meet();
  send(east, question(kOurs, kOthers));
  EXPECT_EQ(west.count(RoceCounter::kForeign), 0u) << "east knows that it is not its own";
  EXPECT_EQ(east.count(RoceCounter::kLooped), 1u);
  now += 3s;
  send(west, question(kOurs, kTheirs));
  now += 3s;  // silent for long enough for east, but not for west
  send(west, question(kOurs, kTheirs));
  north.bridge.from_hosts(question(kTheirs), now);
  settle();
  EXPECT_EQ(west.count(RoceCounter::kForeign), 0u) << "it may have moved to north";
  send(east, question(kTheirs));
  EXPECT_EQ(west.count(RoceCounter::kForeign), 1u) << "but not back at once";
}

TEST_F(RoceBridgeTest, SendsNothingFromOneSiteToAnother) {
  meet();
  send(north, question(kOthers));
  clear();
  // North has to be told by hand: it has not heard of a host of east.
  send(west, question(kOurs, kOthers));
  send(north, question(kOthers, kOurs));
  north.bridge.from_hosts(rxe_frame("rc-atomic.pcap", kOthers, kTheirs), now);
  settle();
  EXPECT_EQ(north.count(RoceCounter::kUnknown), 1u);
  EXPECT_THAT(east.came, IsEmpty());
}

TEST_F(RoceBridgeTest, BoundsQuestionsToAllAndTheHostsItKnows) {
  for (std::uint8_t i = 0; i < 20; ++i)
    send(west, question({2, 0, 0, 0, 1, i}));
  EXPECT_EQ(east.came.size(), 5u);
  EXPECT_EQ(west.count(RoceCounter::kTooMany), 15u);
  EXPECT_EQ(west.count(RoceCounter::kStations), 12u);
  EXPECT_EQ(west.bridge.stations().size(), 8u);
  now += 1s;
  send(west, question(kOurs));
  EXPECT_EQ(east.came.size(), 6u);
  now += 1h;
  for (int i = 0; i < 20; ++i)
    send(west, question(kOurs));
  EXPECT_EQ(east.came.size(), 11u) << "no more at once, however long nobody has asked";
}

TEST_F(RoceBridgeTest, BoundsPacketsToGroupsByTheLanesAlone) {
  for (int i = 0; i < 20; ++i)
    send(west, rxe_frame("rc-atomic.pcap", kOurs, {1, 0, 0x5E, 0, 0, 1}));
  EXPECT_EQ(east.came.size(), 20u);
  EXPECT_EQ(north.came.size(), 20u);
}

TEST_F(RoceBridgeTest, HandsOnWhatIsForAHostThatIsNotKnownHere) {
  meet();
  for (std::uint8_t i = 0; i < 8; ++i)  // as many as east can remember, and west hears nothing
    send(east, question({2, 0, 0, 0, 1, i}, kTheirs));
  EXPECT_EQ(east.bridge.stations().find(kTheirs, now), std::nullopt);
  send(west, rxe_frame("rc-atomic.pcap", kOurs, kTheirs));
  EXPECT_EQ(east.came.size(), 1u);
}

// Two bridges that need not be alike.
class Two {
 public:
  Two(link::PacketPool& pool, const RoceOptions& options, const RoceOptions& other_options)
      : here(pool, options, 1), there(pool, other_options, 1), link_(pool) {
    link_.join(here.bridge.site(0), there.bridge.site(0), now_);
    settle();
  }
  ~Two() {
    here.bridge.site(0).connect(nullptr, now_);
    there.bridge.site(0).connect(nullptr, now_);
  }
  void send(const Frame& frame) {
    here.bridge.from_hosts(frame, now_);
    settle();
  }

 private:
  void settle() {
    while (std::exchange(here.woken, false) | std::exchange(there.woken, false)) {
      here.bridge.run(now_);
      there.bridge.run(now_);
    }
  }

 public:
  Bridge here, there;

 private:
  Time now_{1s};
  link::DirectLink link_;
};

TEST_F(RoceBridgeTest, BoundsWhatASiteAsksAllThatDoesNotDoSoItself) {
  RoceOptions generous = kOptions;
  generous.questions = 100;
  Two two(pool, generous, kOptions);
  for (int i = 0; i < 20; ++i)
    two.send(question(kOurs));
  EXPECT_EQ(two.here.count(RoceCounter::kTooMany), 0u);
  EXPECT_EQ(two.there.count(RoceCounter::kTooMany), 15u);
  EXPECT_EQ(two.there.came.size(), 5u);
}

TEST_F(RoceBridgeTest, GivesAllClassesThatHaveNoLaneTheLastOne) {
  RoceOptions narrow = kOptions;
  narrow.port.data_vls = 2;
  Two two(pool, narrow, narrow);
  Frame frame = rxe_frame("rc-all-1024-ip6.pcap", kOurs, {0x33, 0x33, 0, 0, 0, 1});
  wire::store_be16(frame.data() + 14, 0x6E00);
  two.there.full = true;
  two.send(frame);
  EXPECT_LT(two.there.bridge.site(0).receive_room(Vl{1}), 128u);
  EXPECT_EQ(two.there.bridge.site(0).receive_room(Vl{0}), 128u);
  two.there.bridge.drop_waiting();
}

TEST_F(RoceBridgeTest, LetsGoOfWhatWaitsForTheEthernet) {
  meet();
  east.full = true;
  send(west, rxe_frame("rc-atomic.pcap", kOurs, kTheirs));
  EXPECT_EQ(east.bridge.waiting(), 1u);
  EXPECT_EQ(pool.in_use(), 1u);
  east.bridge.drop_waiting();
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(RoceBridgeTest, CountsWhatIsForASiteThatIsNotThere) {
  meet();
  links[0].set_plugged(false, now);
  settle();
  send(west, rxe_frame("rc-atomic.pcap", kOurs, kTheirs));
  EXPECT_EQ(west.count(RoceCounter::kSiteDown), 1u);
}

TEST(Stations, ForgetsWhoWasSilentForLongestAndWhoIsSilentForTooLong) {
  Stations stations({.most = 2, .forget = 10s, .recent = 2s});
  using Learnt = Stations::Learnt;
  EXPECT_EQ(stations.heard(kOurs, Stations::kHere, Time{0s}), Learnt::kYes);
  EXPECT_EQ(stations.heard(kTheirs, Stations::kHere, Time{1s}), Learnt::kYes);
  EXPECT_EQ(stations.heard(kOurs, Stations::kHere, Time{2s}), Learnt::kYes);
  EXPECT_EQ(stations.heard(kOthers, Stations::kHere, Time{3s}), Learnt::kForgot);
  EXPECT_FALSE(stations.find(kTheirs, Time{3s}));
  EXPECT_EQ(stations.find(kOurs, Time{12s}), Stations::kHere);
  EXPECT_FALSE(stations.find(kOurs, Time{13s}));
  EXPECT_EQ(stations.heard(kOurs, 2, Time{3s}), Learnt::kConflict);
  EXPECT_EQ(stations.heard(kOurs, 2, Time{4s}), Learnt::kYes);
  EXPECT_EQ(stations.find(kOurs, Time{4s}), 2u);
  EXPECT_EQ(stations.size_at(Stations::kHere), 1u);
  EXPECT_EQ(stations.size_at(2), 1u);
}

}  // namespace
}  // namespace weft::wan::test
