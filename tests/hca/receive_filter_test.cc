// SPDX-License-Identifier: Apache-2.0
#include "hca/receive_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "wire/grh.h"

namespace weft::hca::test {
namespace {

constexpr QueueSet kService{1};
constexpr QueueSet kOther{2};
constexpr Steered kEngine{};
constexpr Steered kRaw{.engine = false, .raw = kService};
constexpr Steered kBoth{.engine = true, .raw = kService};

Gid gid(std::uint16_t last) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[14] = static_cast<std::uint8_t>(last >> 8);
  bytes[15] = static_cast<std::uint8_t>(last);
  return Gid(bytes);
}

GidPrefix one(const Gid& gid) {
  return {gid, GidPrefix::kMostBits};
}

wire::Lrh local(std::uint16_t dlid) {
  return {.next_header = wire::Lnh::iba_local, .dlid = Lid{dlid}, .slid = Lid{1}};
}

struct Global {
  wire::Lrh lrh;
  std::array<std::byte, wire::Grh::kSize> grh{};

  Global(std::uint16_t dlid, const Gid& dgid)
      : lrh{.next_header = wire::Lnh::iba_global, .dlid = Lid{dlid}, .slid = Lid{1}} {
    wire::Grh{.sgid = gid(1), .dgid = dgid}.write(grh);
  }
};

class ReceiveFilterTest : public testing::Test {
 protected:
  Steered steer(const wire::Lrh& lrh) { return filter_.steer(lrh, {}); }
  Steered steer(const Global& packet) { return filter_.steer(packet.lrh, packet.grh); }
  std::uint64_t count(FilterCounter counter) { return filter_.counters().get(counter); }

  ReceiveFilter filter_;
};

TEST_F(ReceiveFilterTest, LeavesAllToTheEngineUntilItIsToldOtherwise) {
  EXPECT_FALSE(filter_.diverts());
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 0));
  EXPECT_FALSE(filter_.diverts());
  EXPECT_EQ(steer(local(4)), kEngine);
  EXPECT_EQ(steer(local(5)), kEngine);
  EXPECT_EQ(count(FilterCounter::kEngine), 2u);
}

// Two service LIDs of a data service node, 0xF and 0xFF: raw to the service; all others are
// handled by the protocol engine.
TEST_F(ReceiveFilterTest, DivertsTheServiceLidsOfItsTableAndNoOther) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{0xC}, 0));
  ASSERT_TRUE(filter_.divert_lid(Lid{0xF}, kService));
  ASSERT_TRUE(filter_.divert_lid(Lid{0xFF}, kService));
  EXPECT_TRUE(filter_.diverts());
  for (std::uint32_t lid = 0; lid <= 0xFFFF; ++lid) {
    const bool is_service = lid == 0xF || lid == 0xFF;
    ASSERT_EQ(steer(local(static_cast<std::uint16_t>(lid))), is_service ? kRaw : kEngine) << lid;
  }
  EXPECT_EQ(count(FilterCounter::kByLid), 2u);
  EXPECT_EQ(count(FilterCounter::kManagement), 1u);  // the permissive LID
  EXPECT_EQ(count(FilterCounter::kEngine), 0x10000u - 3);
}

TEST_F(ReceiveFilterTest, NeverDivertsSubnetManagement) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 0));
  ASSERT_TRUE(filter_.divert_lid(Lid{0xF}, kService));
  filter_.divert_other_lids(kService);
  filter_.watch(kOther);
  wire::Lrh smp = local(0xF);
  smp.vl = Vl{15};
  EXPECT_EQ(steer(smp), kEngine);
  smp.dlid = Lid{0xFFFF};
  EXPECT_EQ(steer(smp), kEngine);
  EXPECT_EQ(count(FilterCounter::kManagement), 2u);
}

TEST_F(ReceiveFilterTest, SendsEachServiceWhatIsIts) {
  ASSERT_TRUE(filter_.divert_lid(Lid{0xF}, kService));
  ASSERT_TRUE(filter_.divert_lid(Lid{0xFF}, kOther));
  EXPECT_EQ(steer(local(0xFF)).raw, kOther);
  EXPECT_TRUE(filter_.divert_lid(Lid{0xF}, kService));  // nothing new
  const auto taken = filter_.divert_lid(Lid{0xF}, kOther);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, std::errc::file_exists);
  EXPECT_EQ(taken.error().message, "LID 0xf: goes to other raw queues already");
}

TEST_F(ReceiveFilterTest, TakesRulesBack) {
  ASSERT_TRUE(filter_.divert_lid(Lid{0xF}, kService));
  ASSERT_TRUE(filter_.divert_gids(one(gid(0xBB)), kService));
  ASSERT_TRUE(filter_.restore_lid(Lid{0xF}));
  ASSERT_TRUE(filter_.restore_gids(one(gid(0xBB))));
  EXPECT_FALSE(filter_.diverts());
  EXPECT_EQ(steer(local(0xF)), kEngine);
  EXPECT_EQ(filter_.restore_lid(Lid{0xF}).error().code, std::errc::invalid_argument);
  EXPECT_EQ(filter_.restore_gids(one(gid(0xBB))).error().message,
            "GID fe80::bb: goes to no raw queues");
}

TEST_F(ReceiveFilterTest, DivertsByTheDgidWhereThereIsOne) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 0));
  ASSERT_TRUE(filter_.divert_gids(one(gid(0xBB)), kService));
  EXPECT_EQ(steer(Global(4, gid(0xBB))), kRaw);
  EXPECT_EQ(steer(Global(4, gid(0xCC))), kEngine);
  EXPECT_EQ(steer(local(4)), kEngine);
  EXPECT_EQ(count(FilterCounter::kByGid), 1u);
}

TEST_F(ReceiveFilterTest, DivertsByPrefixesTheLongestFirst) {
  ASSERT_TRUE(filter_.divert_gids(*parse_gid_prefix("fe80::/64"), kService));
  ASSERT_TRUE(filter_.divert_gids(*parse_gid_prefix("fe80::b0/124"), kOther));
  EXPECT_EQ(steer(Global(4, gid(0xBB))).raw, kOther);
  EXPECT_EQ(steer(Global(4, gid(0xAB))).raw, kService);
  EXPECT_EQ(steer(Global(4, Gid({0xFD}))), kEngine);
  ASSERT_TRUE(filter_.restore_gids(*parse_gid_prefix("fe80::b0/124")));
  EXPECT_EQ(steer(Global(4, gid(0xBB))).raw, kService);
  EXPECT_EQ(filter_.divert_gids(*parse_gid_prefix("fe80::/64"), kOther).error().message,
            "GID fe80::/64: goes to other raw queues already");
  ASSERT_TRUE(filter_.divert_gids(GidPrefix(), kOther));
  EXPECT_EQ(steer(Global(4, Gid({0xFD}))).raw, kOther);
}

TEST_F(ReceiveFilterTest, TakesAPacketThatIsTooShortForItsGrhForALocalOne) {
  ASSERT_TRUE(filter_.divert_gids(one(gid(0xBB)), kService));
  const Global packet(4, gid(0xBB));
  EXPECT_EQ(filter_.steer(packet.lrh, Bytes(packet.grh).first(39)), kEngine);
  EXPECT_EQ(filter_.steer(packet.lrh, packet.grh), kRaw);
}

TEST_F(ReceiveFilterTest, InvertedByLidTakesWhatIsNotInThePortsRange) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{0x48}, 3));
  filter_.divert_other_lids(kService);
  for (std::uint16_t lid = 0x40; lid < 0x60; ++lid) {
    const bool own = lid >= 0x48 && lid < 0x50;
    EXPECT_EQ(steer(local(lid)), own ? kEngine : kRaw) << lid;
  }
  EXPECT_EQ(count(FilterCounter::kOtherLid), 24u);
}

TEST_F(ReceiveFilterTest, InvertedByLidWaitsUntilThePortHasALid) {
  filter_.divert_other_lids(kService);
  EXPECT_EQ(steer(local(5)), kEngine);
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 0));
  EXPECT_EQ(steer(local(5)), kRaw);
  ASSERT_TRUE(filter_.set_own_lids(Lid{}, 0));
  EXPECT_EQ(steer(local(5)), kEngine);
}

TEST_F(ReceiveFilterTest, InvertedFollowsThePortToAnotherLid) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 0));
  filter_.divert_other_lids(kService);
  ASSERT_TRUE(filter_.set_own_lids(Lid{8}, 1));
  EXPECT_EQ(steer(local(4)), kRaw);
  EXPECT_EQ(steer(local(9)), kEngine);
}

TEST_F(ReceiveFilterTest, InvertedByGidTakesWhatIsForNoneOfThePortsGids) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 0));
  const std::array own{gid(0xD0), gid(0xD1), gid(0xD2)};
  ASSERT_TRUE(filter_.set_own_gids(own));
  filter_.divert_other_gids(kService);
  for (const Gid& each : own)
    EXPECT_EQ(steer(Global(4, each)), kEngine);
  EXPECT_EQ(steer(Global(4, gid(0xD3))), kRaw);
  EXPECT_EQ(steer(local(4)), kEngine);
  ASSERT_TRUE(filter_.set_own_gids({}));
  EXPECT_EQ(steer(Global(4, gid(0xD1))), kRaw);
  EXPECT_EQ(count(FilterCounter::kOtherGid), 2u);
}

TEST_F(ReceiveFilterTest, GivesMulticastToTheEngineAsWell) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 0));
  filter_.divert_other_lids(kService);
  EXPECT_EQ(steer(local(0xC001)), kBoth);
  filter_.divert_other_lids(std::nullopt);
  EXPECT_EQ(steer(local(0xC001)), kEngine);
  ASSERT_TRUE(filter_.divert_gids(one(gid(0xBB)), kService));
  EXPECT_EQ(steer(Global(0xC001, gid(0xBB))), kBoth);
  EXPECT_EQ(count(FilterCounter::kShared), 2u);
}

TEST_F(ReceiveFilterTest, CopiesWhatIsLeftForWhoWatches) {
  ASSERT_TRUE(filter_.divert_lid(Lid{0xF}, kService));
  filter_.watch(kOther);
  EXPECT_EQ(steer(local(4)), (Steered{.engine = true, .raw = kOther}));
  EXPECT_EQ(steer(local(0xF)), kRaw);
  EXPECT_EQ(count(FilterCounter::kWatched), 1u);
}

TEST_F(ReceiveFilterTest, AsksForTheLidBeforeTheGid) {
  ASSERT_TRUE(filter_.divert_gids(one(gid(0xBB)), kOther));
  ASSERT_TRUE(filter_.divert_lid(Lid{0xF}, kService));
  EXPECT_EQ(steer(Global(0xF, gid(0xBB))), kRaw);
  EXPECT_EQ(steer(Global(0xE, gid(0xBB))).raw, kOther);
}

TEST_F(ReceiveFilterTest, DivertsALidOfThePortsOwnOnRequest) {
  ASSERT_TRUE(filter_.set_own_lids(Lid{4}, 1));
  ASSERT_TRUE(filter_.divert_lid(Lid{5}, kService));
  EXPECT_EQ(steer(local(5)), kRaw);
  EXPECT_EQ(steer(local(4)), kEngine);
}

TEST_F(ReceiveFilterTest, RefusesWhatIsNoAddressOfAPort) {
  for (const Lid lid : {Lid{0}, Lid{0xC000}, Lid{0xFFFE}, Lid{0xFFFF}}) {
    const auto refused = filter_.divert_lid(lid, kService);
    ASSERT_FALSE(refused) << lid.value();
    EXPECT_EQ(refused.error().code, std::errc::invalid_argument);
  }
  EXPECT_EQ(filter_.divert_gids(one(Gid{}), kService).error().message, "GID ::: is no address");
  EXPECT_EQ(filter_.set_own_lids(Lid{4}, 8).error().message, "LMC 8: must be 0 to 7");
  EXPECT_EQ(filter_.set_own_lids(Lid{0xC000}, 0).error().message,
            "LID 0xc000: is not that of a port");
  EXPECT_FALSE(filter_.diverts());
}

TEST_F(ReceiveFilterTest, BoundsItsTables) {
  std::vector<Gid> many(ReceiveFilter::kMostGids + 1);
  EXPECT_EQ(filter_.set_own_gids(many).error().code, std::errc::invalid_argument);
  std::array<std::uint8_t, 16> bytes{0x20};
  for (std::size_t i = 0; i < ReceiveFilter::kMostGids; ++i) {
    bytes[14] = static_cast<std::uint8_t>(i >> 8);
    bytes[15] = static_cast<std::uint8_t>(i);
    ASSERT_TRUE(filter_.divert_gids(one(Gid(bytes)), kService));
  }
  EXPECT_TRUE(filter_.divert_gids(one(Gid(bytes)), kService));
  bytes[13] = 1;
  EXPECT_EQ(filter_.divert_gids(one(Gid(bytes)), kService).error().code,
            std::errc::invalid_argument);
}

}  // namespace
}  // namespace weft::hca::test
