// SPDX-License-Identifier: Apache-2.0
// A node between two subnets: what goes over to the other one, and as what.
#include "service/router/router.h"

#include "base/gid_text.h"
#include "runtime_fixture.h"

namespace weft::service::test {
namespace {

using enum RuntimeCounter;

class RouterTest : public RuntimeTest {
 protected:
  static constexpr Lid kEast{0xE};  // its LID in the other subnet
  const Gid west = *parse_gid("fd00:0:0:1::a");
  const Gid east = *parse_gid("fd00:0:0:2::b");

  RouterTest() { restart_with({}); }
  void restart_with(const std::vector<PKeyRule>& pkeys) {
    restart({});
    router = std::make_unique<Router>();
    router->set_subnet(1, 0xFD00'0000'0000'0001);
    router->set_subnet(2, 0xFD00'0000'0000'0002);
    runtime->set_chain(Lid{}, {.services = {router.get()}, .pkeys = pkeys});
    runtime->pin_path(east, {.dlid = kB, .slid = kEast, .sl = Sl{3}});
    runtime->pin_path(west, {.dlid = kA, .slid = kService});
  }
  Made from_west(std::uint8_t hops, const Gid& to) const {
    Made made = from_a({});
    made.gids = {west, to};
    made.hops = hops;
    return made;
  }
  // By a port; what it has become is in `packet`.
  Fate arrive(const Made& made, std::uint8_t port = 1) {
    packet = make(made);
    return handle(packet, {.port = port});
  }
  std::uint64_t dropped(RouterDrop why) const {
    return runtime->drops(*router)[static_cast<std::size_t>(why)].value;
  }

  std::unique_ptr<Router> router;
  Buffer packet;
};

TEST_F(RouterTest, LeadsToTheOtherSubnetWithOneHopLess) {
  const Buffer sent = make(from_west(64, east));
  // The second one by what is known of its flow.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(arrive(from_west(64, east)), Fate::kForward);
    EXPECT_EQ(out_port, 2);
    const Fields after = Fields::parse(packet);
    EXPECT_EQ(after.hop_limit, 63);
    EXPECT_EQ(after.slid, kEast);
    EXPECT_EQ(after.dlid, kB);
    EXPECT_EQ(after.sl, Sl{3});
    EXPECT_EQ(after.sgid, west);
    EXPECT_EQ(after.dgid, east);
    // It is between the ends: a router has no part in it.
    EXPECT_EQ(wire::walk_link_packet(packet)->transport->icrc,
              wire::walk_link_packet(sent)->transport->icrc);
  }
  EXPECT_EQ(count(kForwardedByFlow), 1u);
  EXPECT_EQ(count(kIcrcKept), 2u);
  Made back = from_west(2, west);
  back.gids = {east, west};
  ASSERT_EQ(arrive(back, 2), Fate::kForward);
  EXPECT_EQ(out_port, 1);
  EXPECT_EQ(Fields::parse(packet).hop_limit, 1);
  EXPECT_EQ(Fields::parse(packet).dlid, kA);
  EXPECT_EQ(router->counters()[0].value, 3u);
}

TEST_F(RouterTest, LastHopGoesNoFurther) {
  for (const std::uint8_t hops : {std::uint8_t{0}, std::uint8_t{1}}) {
    EXPECT_EQ(arrive(from_west(hops, east)), Fate::kDropped);
  }
  EXPECT_EQ(count(kDropHopLimit), 2u);
  // Neither does it in a flow whose other packets have hops to spare.
  EXPECT_EQ(arrive(from_west(2, east)), Fate::kForward);
  EXPECT_EQ(Fields::parse(packet).hop_limit, 1);
  for (const std::uint8_t hops : {std::uint8_t{0}, std::uint8_t{1}}) {
    EXPECT_EQ(arrive(from_west(hops, east)), Fate::kDropped);
  }
  EXPECT_EQ(count(kDropHopLimit), 4u);
  EXPECT_EQ(arrive(from_west(255, east)), Fate::kForward);
  EXPECT_EQ(Fields::parse(packet).hop_limit, 254);
}

TEST_F(RouterTest, AsksTheSubnetThatThePacketGoesTo) {
  const Gid other = *parse_gid("fd00:0:0:2::c");
  ASSERT_EQ(arrive(from_west(9, other)), Fate::kHeld);
  ASSERT_EQ(questions.size(), 1u);
  const PathQuestion& question = questions.front().second;
  EXPECT_EQ(question.port, 2);
  EXPECT_EQ(question.dgid, other);
  EXPECT_EQ(question.sgid, west) << "who asks says what it has brought";
  EXPECT_EQ(question.via, Lid{});
  // The same LID as it came to, in another subnet.
  runtime->path_answered(questions.front().first, Path{.dlid = kService, .slid = kEast}, now);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out_ports.back(), 2);
  EXPECT_EQ(Fields::parse(out.back()).dlid, kService);
  EXPECT_EQ(Fields::parse(out.back()).hop_limit, 8);
}

TEST_F(RouterTest, LongestPrefixCounts) {
  router->add_route(*parse_gid_prefix("fd00::/32"), 3);
  router->add_route(*parse_gid_prefix("fd00:0:0:2::b/128"), 4);
  const Gid far = *parse_gid("fd00:0:0:9::1");
  runtime->pin_path(far, {.dlid = kB, .slid = kEast});
  ASSERT_EQ(arrive(from_west(9, far)), Fate::kForward);
  EXPECT_EQ(out_port, 3);
  ASSERT_EQ(arrive(from_west(9, east)), Fate::kForward);
  EXPECT_EQ(out_port, 4);
}

TEST_F(RouterTest, FollowsASubnetThatGetsAnotherPrefix) {
  ASSERT_EQ(arrive(from_west(9, east)), Fate::kForward);
  router->set_subnet(2, 0xFD00'0000'0000'0003);
  EXPECT_EQ(arrive(from_west(9, east)), Fate::kDropped);
  EXPECT_EQ(dropped(RouterDrop::kNoRoute), 1u);
  router->set_subnet(3, 0xFD00'0000'0000'0002);
  ASSERT_EQ(arrive(from_west(9, east)), Fate::kForward);
  EXPECT_EQ(out_port, 3);
}

TEST_F(RouterTest, ChangesThePartitionOnTheWay) {
  restart_with({{.from = PKey{0x0001}, .to = PKey{0x8002}}});
  Made made = from_west(9, east);
  made.bth.pkey = PKey{0x0001};
  ASSERT_EQ(arrive(made), Fate::kForward);
  EXPECT_EQ(Fields::parse(packet).pkey, PKey{0x8002});
  EXPECT_EQ(Fields::parse(packet).hop_limit, 8);
  EXPECT_EQ(count(kIcrcCorrectedPKey), 1u);
  // That subnet is asked for a path in its own partition.
  made.gids->second = *parse_gid("fd00:0:0:2::c");
  ASSERT_EQ(arrive(made), Fate::kHeld);
  EXPECT_EQ(questions.front().second.pkey, PKey{0x8002});
}

TEST_F(RouterTest, WhatGoesNowhereIsCounted) {
  Made local = from_a({});
  local.gids.reset();
  EXPECT_EQ(arrive(local), Fate::kDropped);
  EXPECT_EQ(dropped(RouterDrop::kNoGrh), 1u);
  EXPECT_EQ(arrive(from_west(9, *parse_gid("fd00:0:0:7::1"))), Fate::kDropped);
  EXPECT_EQ(dropped(RouterDrop::kNoRoute), 1u);
  EXPECT_EQ(arrive(from_west(9, *parse_gid("fd00:0:0:1::c"))), Fate::kDropped);
  EXPECT_EQ(dropped(RouterDrop::kNotAway), 1u);
  EXPECT_EQ(arrive(from_west(9, gid(7))), Fate::kDropped);
  EXPECT_EQ(dropped(RouterDrop::kLinkLocal), 1u);
  EXPECT_EQ(arrive(from_west(9, *parse_gid("ff15::1"))), Fate::kDropped);
  EXPECT_EQ(dropped(RouterDrop::kMulticast), 1u);
  // From the other subnet, as it says, or from one that nobody knows.
  Made forged = from_west(9, east);
  forged.gids->first = *parse_gid("fd00:0:0:2::c");
  EXPECT_EQ(arrive(forged), Fate::kDropped);
  forged.gids->first = *parse_gid("fd00:0:0:8::1");
  EXPECT_EQ(arrive(forged), Fate::kDropped);
  EXPECT_EQ(dropped(RouterDrop::kForeign), 2u);
  EXPECT_EQ(count(kForwarded), 0u);
}

}  // namespace
}  // namespace weft::service::test
