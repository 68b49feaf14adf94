// SPDX-License-Identifier: Apache-2.0
#include "wan/router/router.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "../link/rig.h"
#include "base/gid_text.h"
#include "router_packet.h"

namespace weft::wan {
namespace {

using link::PortState;

const Gid kHere = *parse_gid("fd00:0:0:1::11");
const Gid kThere = *parse_gid("fd00:0:0:2::22");
const Gid kFurther = *parse_gid("fd00:0:0:3::33");
constexpr std::uint64_t kSubnet = 0xFD00'0000'0000'0001;
constexpr LocalPath kRouterPath{.port = 2, .slid = Lid{3}, .dlid = Lid{17}, .sl = Sl{5}};

// What the tunnel to a site is to a router: a port at the other end of a link.
class Far final : public link::PortOwner {
 public:
  explicit Far(link::Worker& worker) : worker_(worker), port({.data_vls = 15}, *this) {
    worker_.add(port);
  }
  void received(link::Port&, link::PacketPtr packet, Time) override {
    came.push_back(std::move(packet));
  }
  void state_changed(link::Port&, PortState, Time) override {}
  void wake(link::Port& woken) override { worker_.wake(woken); }

 private:
  link::Worker& worker_;

 public:
  std::vector<link::PacketPtr> came;
  link::Port port;
};

class RouterTest : public ::testing::Test, public RouterUser {
 protected:
  RouterTest() {
    router.set_subnet(kSubnet);
    for (Far* const far : {&east, &north}) {
      const std::uint32_t site = router.add_site();
      links[site].join(far->port, router.site(site), worker.now());
    }
    router.prefixes().insert(*parse_gid_prefix("fd00:0:0:2::/64"), 0);
    router.prefixes().insert(*parse_gid_prefix("fd00::/32"), 1);
    settle();
    for (Far* const far : {&east, &north}) {
      far->port.set_state(PortState::kArmed, worker.now());
      far->port.set_state(PortState::kActive, worker.now());
    }
    settle();
  }
  ~RouterTest() override {
    east.came.clear();
    north.came.clear();
    for (std::uint32_t site = 0; site < 2; ++site)
      router.site(site).connect(nullptr, worker.now());
    for (Far* const far : {&east, &north})
      far->port.connect(nullptr, worker.now());
  }

  // RouterUser
  bool ask(std::uint64_t number, const PathQuestion& question, Time) override {
    asked.emplace_back(number, question);
    return true;
  }
  void into_subnet(link::PacketPtr packet, std::uint8_t port, Time) override {
    came_in.emplace_back(std::move(packet), port);
  }
  void wake() override { woken = true; }

  void settle() {
    do {
      worker.settle();
      if (std::exchange(woken, false)) router.run(worker.now());
    } while (woken || worker.has_woken());
  }
  void from_subnet(const GlobalSpec& spec) {
    router.from_subnet(pool.copy(make_global_packet(spec)), worker.now());
    settle();
  }
  void from_site(Far& far, const GlobalSpec& spec) {
    far.port.transmit(pool.copy(make_global_packet(spec)), Vl{0}, worker.now());
    settle();
  }
  std::uint64_t count(RouterCounter counter) const { return router.counters().get(counter); }
  // That it went nowhere, for this reason alone.
  void expect_dropped(const GlobalSpec& spec, RouterCounter why, Far* from = nullptr) {
    const std::uint64_t before = count(why);
    if (from != nullptr) {
      from_site(*from, spec);
    } else {
      from_subnet(spec);
    }
    EXPECT_EQ(count(why), before + 1) << format_counters(router.counters().snapshot());
    EXPECT_EQ(count(RouterCounter::kOut) + count(RouterCounter::kIn), 0u);
    EXPECT_EQ(pool.in_use(), 0u);
  }
  static bool intact(const link::Packet& packet) {
    std::vector<std::byte> bytes(packet.size());
    packet.copy_to(bytes);
    return wire::check_link_crcs(bytes).good();
  }
  static wire::Grh grh_of(const link::Packet& packet) {
    return *wire::Grh::parse(packet.header().subspan(wire::Lrh::kSize));
  }

  BufferPool payloads{link::PacketPool::kPayloadBlock, 4000};
  link::PacketPool pool{4000, payloads};
  link::Worker worker;
  std::array<link::DirectLink, 2> links{link::DirectLink(pool), link::DirectLink(pool)};
  Far east{worker}, north{worker};
  bool woken = false;
  std::vector<std::pair<std::uint64_t, PathQuestion>> asked;
  std::vector<std::pair<link::PacketPtr, std::uint8_t>> came_in;
  Router router{{.port = {.data_vls = 15}}, pool, *this};
};

TEST_F(RouterTest, BringsItsPortsToSitesUpByItself) {
  EXPECT_EQ(router.site(0).state(), PortState::kActive);
  EXPECT_EQ(router.site(1).state(), PortState::kActive);
}

TEST_F(RouterTest, SendsToTheSiteOfTheLongestPrefixWithOneHopLess) {
  from_subnet({.sgid = kHere, .dgid = kThere, .number = 5, .payload = 2048});
  ASSERT_EQ(east.came.size(), 1u);
  EXPECT_TRUE(north.came.empty());
  EXPECT_EQ(grh_of(*east.came[0]).hop_limit, 7);
  EXPECT_TRUE(intact(*east.came[0])) << "VCRC made anew, ICRC as it was";
  from_subnet({.sgid = kHere, .dgid = kFurther});
  EXPECT_EQ(north.came.size(), 1u);
  EXPECT_EQ(count(RouterCounter::kOut), 2u);
}

// A VCRC that was wrong is not made right on the way.
TEST_F(RouterTest, DoesNotMendWhatWasDamaged) {
  auto bytes = make_global_packet({.sgid = kHere, .dgid = kThere, .payload = 512});
  bytes[300] ^= std::byte{1};
  auto packet = pool.copy(bytes);
  packet->intact = true;  // so that the link lets it pass
  router.from_subnet(std::move(packet), worker.now());
  settle();
  ASSERT_EQ(east.came.size(), 1u);
  EXPECT_FALSE(east.came[0]->vcrc_good());
}

// As programs of a lab hand them over, whose memory needs no CRCs.
TEST_F(RouterTest, LeavesCrcsToBeMadeWhereThereAreNone) {
  auto packet = pool.copy(make_global_packet({.sgid = kHere, .dgid = kThere}));
  for (std::byte& byte : packet->trailer())
    byte = {};
  packet->sealed = false;
  packet->intact = true;
  router.from_subnet(std::move(packet), worker.now());
  settle();
  ASSERT_EQ(east.came.size(), 1u);
  EXPECT_TRUE(intact(*east.came[0]));
}

TEST_F(RouterTest, DropsWithAReasonWhatMayNotLeave) {
  expect_dropped({.sgid = kHere, .dgid = kThere, .next_header = wire::Lnh::iba_local},
                 RouterCounter::kNoGrh);
  expect_dropped({.sgid = kHere, .dgid = kThere, .next_header = wire::Lnh::raw_ipv6},
                 RouterCounter::kNoGrh);
  expect_dropped({.sgid = kHere, .dgid = kThere, .ip_version = 4}, RouterCounter::kBadGrh);
  expect_dropped({.sgid = kHere, .dgid = kThere, .after_grh = 17}, RouterCounter::kBadGrh);
  expect_dropped({.sgid = kHere, .dgid = kThere, .wrong_length = 4}, RouterCounter::kBadGrh);
  expect_dropped({.sgid = kHere, .dgid = kThere, .wrong_length = -4}, RouterCounter::kBadGrh);
  expect_dropped({.sgid = kHere, .dgid = kThere, .dest_qp = kQp0}, RouterCounter::kManagement);
  expect_dropped({.sgid = kHere, .dgid = kThere, .hops = 1}, RouterCounter::kHopLimit);
  expect_dropped({.sgid = kHere, .dgid = kThere, .hops = 0}, RouterCounter::kHopLimit);
  const Gid link_local = *parse_gid("fe80::1");
  expect_dropped({.sgid = kHere, .dgid = link_local}, RouterCounter::kLinkLocal);
  expect_dropped({.sgid = link_local, .dgid = kThere}, RouterCounter::kLinkLocal);
  expect_dropped({.sgid = kHere, .dgid = *parse_gid("ff02::1")}, RouterCounter::kMulticast);
  expect_dropped({.sgid = *parse_gid("ff05::1"), .dgid = kThere}, RouterCounter::kMulticast);
  expect_dropped({.sgid = kHere, .dgid = *parse_gid("2001:db8::1")}, RouterCounter::kNoRoute);
  expect_dropped({.sgid = kHere, .dgid = kHere}, RouterCounter::kNotAway);
  expect_dropped({.sgid = kThere, .dgid = kFurther}, RouterCounter::kForeign);
}

TEST_F(RouterTest, DropsWhatIsForASiteThatIsNotThere) {
  links[0].set_plugged(false, worker.now());
  settle();
  expect_dropped({.sgid = kHere, .dgid = kThere}, RouterCounter::kSiteDown);
  links[0].set_plugged(true, worker.now());
  settle();
  east.port.set_state(PortState::kArmed, worker.now());
  settle();
  from_subnet({.sgid = kHere, .dgid = kThere});
  EXPECT_EQ(east.came.size(), 1u) << "its port came up again by itself";
}

TEST_F(RouterTest, RoutesNothingWhileItsSubnetHasNoPrefixOfItsOwn) {
  router.set_subnet(0xFE80'0000'0000'0000);
  expect_dropped({.sgid = kHere, .dgid = kThere}, RouterCounter::kForeign);
  expect_dropped({.sgid = kThere, .dgid = kHere}, RouterCounter::kNotHere, &east);
}

TEST_F(RouterTest, SendsIntoTheSubnetByThePathThatItsAdministratorKnows) {
  for (std::uint32_t i = 0; i < 3; ++i)
    from_site(east, {.sgid = kThere, .dgid = kHere, .hops = 1, .number = i, .payload = 1024});
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].second, (PathQuestion{.dgid = kHere, .pkey = kDefaultPKey}));
  EXPECT_TRUE(came_in.empty());
  router.paths().found(asked[0].first, kRouterPath, worker.now());
  ASSERT_EQ(came_in.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto& [packet, port] = came_in[i];
    EXPECT_EQ(port, kRouterPath.port);
    const wire::Lrh lrh = packet->lrh();
    EXPECT_EQ(lrh.dlid, kRouterPath.dlid);
    EXPECT_EQ(lrh.slid, kRouterPath.slid);
    EXPECT_EQ(lrh.sl, kRouterPath.sl);
    EXPECT_EQ(grh_of(*packet).hop_limit, 1) << "the two ends of a tunnel are one hop";
    EXPECT_EQ(wire::Bth::parse(packet->header().subspan(48))->psn.value(), i);
    EXPECT_TRUE(intact(*packet));
  }
  EXPECT_EQ(count(RouterCounter::kIn), 3u);
  came_in.clear();
}

// A path is one between members of the same partition, whichever kind the sender is.
TEST_F(RouterTest, AsksForThePathOfThePartition) {
  from_site(east, {.sgid = kThere, .dgid = kHere, .pkey = PKey{0x0002}});
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].second.pkey, PKey{0x8002});
  router.paths().absent(asked[0].first, worker.now());
  EXPECT_EQ(count(RouterCounter::kNoPath), 1u);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(RouterTest, DropsWithAReasonWhatMayNotComeIn) {
  expect_dropped({.sgid = kThere, .dgid = kHere, .next_header = wire::Lnh::iba_local},
                 RouterCounter::kNoGrh, &east);
  expect_dropped({.sgid = kThere, .dgid = kHere, .ip_version = 5}, RouterCounter::kBadGrh, &east);
  expect_dropped({.sgid = kThere, .dgid = kHere, .hops = 0}, RouterCounter::kHopLimit, &east);
  expect_dropped({.sgid = kThere, .dgid = kHere, .dest_qp = kQp0}, RouterCounter::kManagement,
                 &east);
  expect_dropped({.sgid = kThere, .dgid = kFurther}, RouterCounter::kNotHere, &east);
  expect_dropped({.sgid = kHere, .dgid = kHere}, RouterCounter::kForeign, &east);
  EXPECT_TRUE(asked.empty()) << "nobody is asked because of such a packet";
}

// What waits for a path keeps its room, so that the other site is throttled and nothing is lost.
TEST_F(RouterTest, HoldsTheTunnelsCreditWhileAPathIsAskedFor) {
  const std::uint32_t room = router.site(0).receive_room(Vl{0});
  from_site(east, {.sgid = kThere, .dgid = kHere, .payload = 1024});
  EXPECT_LT(router.site(0).receive_room(Vl{0}), room);
  router.paths().found(asked.at(0).first, kRouterPath, worker.now());
  came_in.clear();
  EXPECT_EQ(router.site(0).receive_room(Vl{0}), room);
}

// --- Multicast groups ----------------------------------------------------------------------------

const Gid kGroup = *parse_gid("ff15::77");
constexpr LocalGroup kLocal{
    .mgid = {}, .port = 2, .slid = Lid{3}, .mlid = Lid{0xC005}, .sl = Sl{4}};

class RoutedGroups : public RouterTest {
 protected:
  void has_group() {
    LocalGroup group = kLocal;
    group.mgid = kGroup;
    router.set_groups({group}, worker.now());
    settle();
  }
  void tell(Far& from, std::vector<std::byte> said) {
    from.port.transmit(pool.copy(said), Vl{0}, worker.now());
    settle();
  }
  void wants(Far& far, std::chrono::seconds hold = std::chrono::seconds(35)) {
    tell(far, GroupInterest{.hold = hold, .groups = {kGroup}}.write());
  }
  static std::optional<GroupInterest> interest_of(const link::Packet& packet) {
    std::vector<std::byte> bytes(packet.size());
    packet.copy_to(bytes);
    return GroupInterest::parse(bytes);
  }
};

TEST_F(RoutedGroups, GetTheirPacketsToEverySiteThatWantsThem) {
  expect_dropped({.sgid = kHere, .dgid = kGroup}, RouterCounter::kNotWanted);
  wants(east);
  from_subnet({.sgid = kHere, .dgid = kGroup, .payload = 1024});
  ASSERT_EQ(east.came.size(), 1u);
  EXPECT_TRUE(north.came.empty());
  wants(north);
  from_subnet({.sgid = kHere, .dgid = kGroup, .payload = 1024});
  ASSERT_EQ(east.came.size(), 2u);
  ASSERT_EQ(north.came.size(), 1u);
  for (const link::Packet* packet : {east.came[1].get(), north.came[0].get()}) {
    EXPECT_EQ(grh_of(*packet).hop_limit, 7) << "one hop, whichever copy it is";
    EXPECT_TRUE(intact(*packet));
  }
  EXPECT_EQ(count(RouterCounter::kGroupOut), 2u);
  EXPECT_EQ(count(RouterCounter::kCopies), 3u);
  wants(east, {});
  from_subnet({.sgid = kHere, .dgid = kGroup});
  EXPECT_EQ(east.came.size(), 2u) << "it wants them no more";
  EXPECT_EQ(north.came.size(), 2u);
}

TEST_F(RoutedGroups, AreNotSentToASiteThatIsNotThere) {
  wants(east);
  links[0].set_plugged(false, worker.now());
  settle();
  expect_dropped({.sgid = kHere, .dgid = kGroup}, RouterCounter::kNotWanted);
}

TEST_F(RoutedGroups, StayInTheSubnetWhereTheyMay) {
  wants(east);
  expect_dropped({.sgid = kThere, .dgid = kGroup}, RouterCounter::kForeign);
  expect_dropped({.sgid = kHere, .dgid = kGroup, .hops = 1}, RouterCounter::kHopLimit);
  expect_dropped({.sgid = kHere, .dgid = *parse_gid("ff12::77")}, RouterCounter::kMulticast);
}

TEST_F(RoutedGroups, GoIntoTheSubnetByTheLidThatTheyHaveThere) {
  expect_dropped({.sgid = kThere, .dgid = kGroup}, RouterCounter::kNoGroup, &east);
  has_group();
  east.came.clear();
  from_site(east, {.sgid = kThere, .dgid = kGroup, .hops = 1, .payload = 1024});
  ASSERT_EQ(came_in.size(), 1u);
  const auto& [packet, port] = came_in[0];
  EXPECT_EQ(port, kLocal.port);
  EXPECT_EQ(packet->lrh().dlid, kLocal.mlid);
  EXPECT_EQ(packet->lrh().slid, kLocal.slid);
  EXPECT_EQ(packet->lrh().sl, kLocal.sl);
  EXPECT_TRUE(intact(*packet));
  EXPECT_EQ(count(RouterCounter::kGroupIn), 1u);
  EXPECT_TRUE(asked.empty());
  came_in.clear();
}

// Each site sends what its own hosts send: so nothing goes in a ring, and none speaks for another.
TEST_F(RoutedGroups, AreTakenFromTheSiteOfTheirSenderAlone) {
  has_group();
  wants(north);
  north.came.clear();
  east.came.clear();
  expect_dropped({.sgid = kThere, .dgid = kGroup}, RouterCounter::kForeign, &north);
  expect_dropped({.sgid = kFurther, .dgid = kGroup}, RouterCounter::kForeign, &east);
  expect_dropped({.sgid = kHere, .dgid = kGroup}, RouterCounter::kForeign, &east);
  expect_dropped({.sgid = *parse_gid("2001:db8::1"), .dgid = kGroup}, RouterCounter::kForeign,
                 &east);
  from_site(east, {.sgid = kThere, .dgid = kGroup});
  EXPECT_TRUE(north.came.empty()) << "what came from a site goes to no other";
  came_in.clear();
}

TEST_F(RoutedGroups, AreToldToEverySiteThatIsThere) {
  has_group();
  for (Far* const far : {&east, &north}) {
    ASSERT_EQ(far->came.size(), 1u);
    EXPECT_EQ(interest_of(*far->came[0])->groups, std::vector{kGroup});
    far->came.clear();
  }
  links[0].set_plugged(false, worker.now());
  settle();
  links[0].set_plugged(true, worker.now());
  settle();
  east.port.set_state(PortState::kArmed, worker.now());
  settle();
  EXPECT_EQ(east.came.size(), 1u) << "it has come back, and may have begun anew";
  east.came.clear();
  router.set_groups({}, worker.now());
  settle();
  ASSERT_EQ(north.came.size(), 1u);
  EXPECT_EQ(interest_of(*north.came[0]), (GroupInterest{.hold = {}, .groups = {kGroup}}));
}

// What waits for it is packets that are to arrive, and this would be said again anyway.
TEST_F(RoutedGroups, AreNotToldToASiteThatTakesNothingForLong) {
  constexpr std::size_t kMuch = 1000;
  for (int i = 0; i < 3; ++i) {  // until the link to it is full too
    while (router.site(0).backlog(Vl{0}) < kMuch) {
      auto packet = pool.copy(make_global_packet({.sgid = kHere, .dgid = kThere, .payload = 1024}));
      ASSERT_NE(packet, nullptr);
      router.from_subnet(std::move(packet), worker.now());
    }
    router.run(worker.now());
  }
  ASSERT_EQ(router.site(0).backlog(Vl{0}), kMuch);
  const std::uint64_t told = count(RouterCounter::kTold);
  LocalGroup group = kLocal;
  group.mgid = kGroup;
  router.set_groups({group}, worker.now());
  router.run(worker.now());
  EXPECT_EQ(count(RouterCounter::kTold), told + 1) << "the other one alone";
  EXPECT_EQ(router.site(0).backlog(Vl{0}), kMuch);
  settle();
}

TEST_F(RoutedGroups, AreNotWantedByWhomNobodyUnderstands) {
  auto said = GroupInterest{.hold = std::chrono::seconds(5), .groups = {kGroup}}.write();
  said[12] = std::byte{9};
  wire::seal_link_packet(said);
  tell(east, said);
  EXPECT_EQ(count(RouterCounter::kBadInterest), 1u);
  expect_dropped({.sgid = kHere, .dgid = kGroup}, RouterCounter::kNotWanted);
}

}  // namespace
}  // namespace weft::wan
