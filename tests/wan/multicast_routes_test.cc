// SPDX-License-Identifier: Apache-2.0
#include "wan/router/multicast_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/gid_text.h"
#include "wire/link_crc.h"

namespace weft::wan {
namespace {

Gid group(unsigned number) {
  std::array<std::uint8_t, 16> bytes{0xFF, 0x15};
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return Gid{bytes};
}

std::vector<LocalGroup> groups(unsigned first, unsigned count) {
  std::vector<LocalGroup> out;
  for (unsigned i = first; i < first + count; ++i)
    out.push_back({.mgid = group(i), .port = 1, .slid = Lid{4}, .mlid = Lid{0xC000}});
  return out;
}

// --- What is said -------------------------------------------------------------------------------

TEST(GroupInterest, ReadsBackTheSame) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, GroupInterest::kMost}) {
    GroupInterest interest{.hold = std::chrono::seconds(35), .groups = {}};
    for (unsigned i = 0; i < count; ++i)
      interest.groups.push_back(group(i));
    const auto bytes = interest.write();
    EXPECT_TRUE(is_group_interest(bytes));
    EXPECT_TRUE(wire::check_link_crcs(bytes).good());
    EXPECT_EQ(GroupInterest::parse(bytes), interest);
  }
}

TEST(GroupInterest, IsRefusedWhereItCannotBe) {
  const GroupInterest interest{.hold = std::chrono::seconds(35), .groups = {group(1), group(2)}};
  const auto good = interest.write();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(GroupInterest::parse(Bytes(good).first(size))) << size;
  const auto changed = [&](std::size_t at, std::uint8_t to) {
    auto bytes = good;
    bytes[at] = std::byte{to};
    return GroupInterest::parse(bytes);
  };
  EXPECT_FALSE(changed(1, 2)) << "no raw packet";
  EXPECT_FALSE(changed(11, 0xB5)) << "another EtherType";
  EXPECT_FALSE(changed(12, 2)) << "another version";
  EXPECT_FALSE(changed(15, 1)) << "fewer than there are";
  EXPECT_FALSE(changed(14, 1)) << "more than there are";
  EXPECT_FALSE(changed(16, 0xFD)) << "no multicast GID";
  EXPECT_FALSE(changed(33, 0x12)) << "a group of the subnet's own";
}

TEST(GroupInterest, IsOfGroupsThatGoBeyondASubnet) {
  EXPECT_TRUE(is_routed_group(*parse_gid("ff15::1")));
  EXPECT_TRUE(is_routed_group(*parse_gid("ff18::1")));
  EXPECT_TRUE(is_routed_group(*parse_gid("ff1e::1")));
  EXPECT_FALSE(is_routed_group(*parse_gid("ff12::1")));
  EXPECT_FALSE(is_routed_group(*parse_gid("ff10::1")));
  EXPECT_FALSE(is_routed_group(*parse_gid("ff1f::1")));
  EXPECT_FALSE(is_routed_group(*parse_gid("fd15::1")));
  EXPECT_FALSE(is_routed_group(Gid::from_ipv4(0xEF010203)));
}

// --- Who wants what -----------------------------------------------------------------------------

class MulticastRoutesTest : public ::testing::Test {
 protected:
  MulticastRoutesTest() {
    routes.add_site();
    routes.add_site();
    routes.site_changed(0, true, now);
  }
  // All that a site is told now.
  std::vector<GroupInterest> told(std::uint32_t site) {
    std::vector<GroupInterest> out;
    while (auto interest = routes.tell(site, now))
      out.push_back(*interest);
    return out;
  }
  static std::set<Gid> of(const std::vector<GroupInterest>& told, bool wanted) {
    std::set<Gid> out;
    for (const GroupInterest& interest : told) {
      if ((interest.hold.count() > 0) == wanted)
        out.insert(interest.groups.begin(), interest.groups.end());
    }
    return out;
  }

  Time now{100s};
  MulticastRoutes routes{{.groups = 100}};
};

TEST_F(MulticastRoutesTest, TellsASiteThatIsThereWhatTheSubnetHas) {
  EXPECT_FALSE(routes.deadline());
  routes.set_local(groups(1, 3), now);
  EXPECT_EQ(routes.deadline(), Time{});
  EXPECT_EQ(of(told(0), true), (std::set{group(1), group(2), group(3)}));
  EXPECT_TRUE(told(0).empty()) << "once";
  EXPECT_TRUE(told(1).empty()) << "it is not there";
  routes.site_changed(1, true, now);
  EXPECT_EQ(of(told(1), true).size(), 3u);
}

TEST_F(MulticastRoutesTest, RepeatsItBeforeItsTimeIsOver) {
  routes.set_local(groups(1, 1), now);
  const auto first = told(0);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(routes.deadline());
  EXPECT_LT(*routes.deadline(), now + first[0].hold);
  now = *routes.deadline() - 1ns;
  EXPECT_TRUE(told(0).empty());
  now += 1ns;
  EXPECT_EQ(told(0), first);
}

TEST_F(MulticastRoutesTest, TellsWhatHasEndedAndNotWhatBeganAgain) {
  routes.set_local(groups(1, 3), now);
  told(0);
  routes.set_local(groups(2, 1), now);
  routes.set_local(groups(2, 2), now);
  const auto news = told(0);
  EXPECT_EQ(of(news, false), std::set{group(1)});
  EXPECT_EQ(of(news, true), (std::set{group(2), group(3)}));
  routes.set_local(groups(2, 2), now);
  EXPECT_TRUE(told(0).empty()) << "nothing has changed";
}

TEST_F(MulticastRoutesTest, TellsManyGroupsInSeveralMessages) {
  routes.set_local(groups(1, 100), now);
  auto news = told(0);
  EXPECT_EQ(news.size(), 2u);
  EXPECT_EQ(of(news, true).size(), 100u);
  routes.set_local({}, now);
  news = told(0);
  EXPECT_EQ(of(news, false).size(), 100u);
  EXPECT_FALSE(routes.deadline());
}

TEST_F(MulticastRoutesTest, LeavesOutWhatIsNotRoutedAndWhatIsTooMuch) {
  auto all = groups(1, 120);
  all.front().mgid = *parse_gid("ff12::1");
  routes.set_local(all, now);
  EXPECT_EQ(routes.local_size(), 100u);
  EXPECT_EQ(routes.find_local(*parse_gid("ff12::1")), nullptr);
  EXPECT_NE(routes.find_local(group(2)), nullptr);
}

TEST_F(MulticastRoutesTest, BelievesASiteForAsLongAsItSaid) {
  EXPECT_TRUE(routes.heard(0, {.hold = std::chrono::seconds(5), .groups = {group(1)}}, now));
  EXPECT_TRUE(routes.wants(0, group(1), now));
  EXPECT_FALSE(routes.wants(1, group(1), now));
  EXPECT_FALSE(routes.wants(0, group(2), now));
  EXPECT_TRUE(routes.wants(0, group(1), now + 5s - 1ns));
  EXPECT_FALSE(routes.wants(0, group(1), now + 5s));
  EXPECT_TRUE(routes.heard(0, {.hold = {}, .groups = {group(1)}}, now));
  EXPECT_FALSE(routes.wants(0, group(1), now));
}

TEST_F(MulticastRoutesTest, ForgetsWhatASiteWantedThatHasGone) {
  routes.heard(0, {.hold = std::chrono::seconds(5), .groups = {group(1)}}, now);
  routes.site_changed(0, false, now);
  EXPECT_FALSE(routes.wants(0, group(1), now));
}

TEST_F(MulticastRoutesTest, DoesNotRememberMoreOfASiteThanItsBound) {
  for (unsigned i = 0; i < 4; ++i) {
    GroupInterest interest{.hold = std::chrono::seconds(5), .groups = {}};
    for (unsigned k = 0; k < 30; ++k)
      interest.groups.push_back(group(i * 30 + k));
    EXPECT_EQ(routes.heard(0, interest, now), i < 3);
  }
  EXPECT_EQ(routes.wanted_size(0), 100u);
  // What is over makes room.
  EXPECT_TRUE(routes.heard(0, {.hold = std::chrono::seconds(5), .groups = {group(500)}}, now + 5s));
  EXPECT_EQ(routes.wanted_size(0), 1u);
}

}  // namespace
}  // namespace weft::wan
