// SPDX-License-Identifier: Apache-2.0
#include "lan/host_groups.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "group_frames.h"
#include "lan/group_query.h"
#include "wire/endian.h"

namespace weft::lan::test {
namespace {

constexpr MacAddress kHostGroupsGroup2{0x01, 0x00, 0x5E, 0x01, 0x02, 0x02};
constexpr MacAddress kHostGroupsGroup6{0x33, 0x33, 0x00, 0x00, 0x0A, 0xA1};

class HostGroupsTest : public ::testing::Test {
 protected:
  bool hear(std::string_view hex) { return hear(bytes_of(hex)); }
  bool hear(const std::vector<std::byte>& frame) {
    return groups.heard(GroupMessage::read(*EthernetFrame::read(frame)), now);
  }
  bool hear_query() {
    const GroupQueries queries({2, 0, 0, 0, 0, 9}, 1s);
    return hear({queries.mld().begin(), queries.mld().end()});
  }
  // Asks when it is time to; how often that was.
  int run_for(Duration time) {
    int queries = 0;
    for (const Time end = now + time;;) {
      groups.run(now);
      if (groups.query_due(now)) {
        groups.queried(now);
        ++queries;
      }
      if (groups.deadline() > end) {
        now = end;
        return queries;
      }
      now = groups.deadline();
    }
  }
  using Groups = std::vector<MacAddress>;

  Time now{1s};
  HostGroups groups{{}, now};
};

TEST_F(HostGroupsTest, WantsAllUntilTheFirstQueryIsAnswered) {
  EXPECT_TRUE(groups.wanted().all);
  EXPECT_TRUE(groups.query_due(now));
  EXPECT_EQ(groups.response_time(), Duration(1s));
  EXPECT_EQ(run_for(4s), 1);
  EXPECT_FALSE(groups.wanted().all);
  EXPECT_TRUE(groups.wanted().groups.empty());
}

// Ports of a bridge forward half a minute late.
TEST_F(HostGroupsTest, WantsAllUntilOthersBehindItHaveBeenAskedTwice) {
  run_for(60s);
  hear(kIgmp2Join);
  EXPECT_TRUE(groups.begin_again(now));
  EXPECT_TRUE(groups.wanted().all);
  EXPECT_TRUE(groups.query_due(now));
  EXPECT_EQ(run_for(1s), 1);
  EXPECT_FALSE(groups.begin_again(now)) << "it has begun";
  EXPECT_EQ(groups.response_time(), Duration(1s));
  EXPECT_EQ(run_for(30s), 0);
  EXPECT_EQ(run_for(1s), 1);
  EXPECT_EQ(groups.response_time(), Duration(10s));
  EXPECT_TRUE(groups.wanted().all);
  hear(kMld1Join);
  EXPECT_EQ(run_for(4s), 0);
  EXPECT_EQ(groups.wanted(),
            (GroupList{.all = false, .groups = {kHostGroupsGroup2, kHostGroupsGroup6}}));
  EXPECT_EQ(run_for(119s), 0);
  EXPECT_EQ(run_for(10s), 1);
  EXPECT_TRUE(groups.begin_again(now));
}

// A port of its bond may go meanwhile.
TEST_F(HostGroupsTest, WaitsForOthersBehindItThoughItIsToAskAnew) {
  run_for(60s);
  groups.begin_again(now);
  EXPECT_EQ(run_for(1s), 1);
  groups.begin_anew(now);
  EXPECT_FALSE(groups.query_due(now)) << "they are being asked";
  EXPECT_EQ(run_for(29s), 0);
  EXPECT_TRUE(groups.wanted().all);
  EXPECT_EQ(run_for(2s), 1);
  EXPECT_TRUE(groups.wanted().all);
  EXPECT_EQ(run_for(3s), 0);
  EXPECT_FALSE(groups.wanted().all);
}

TEST_F(HostGroupsTest, AsksAnewForGroupsThatWereReportedToAnotherPort) {
  run_for(60s);
  groups.begin_anew(now);
  EXPECT_FALSE(groups.wanted().all) << "run() tells";
  EXPECT_TRUE(groups.run(now));
  EXPECT_TRUE(groups.wanted().all);
  EXPECT_EQ(run_for(4s), 1);
  EXPECT_FALSE(groups.wanted().all);
}

TEST_F(HostGroupsTest, FollowsReports) {
  run_for(4s);
  EXPECT_TRUE(hear(kIgmp2Join));
  EXPECT_FALSE(hear(kIgmp2Join));
  EXPECT_TRUE(hear(kMld1Join));
  EXPECT_EQ(groups.wanted().groups, (Groups{kHostGroupsGroup2, kHostGroupsGroup6}));
  EXPECT_TRUE(groups.wanted().wants(kHostGroupsGroup6));
  EXPECT_FALSE(groups.wanted().wants({0x33, 0x33, 0, 0, 0, 9}));
}

TEST_F(HostGroupsTest, AsksWhetherAnotherOneStaysWhenOneLeaves) {
  run_for(4s);
  hear(kIgmp2Join);
  hear(kMld1Join);
  EXPECT_FALSE(hear(kIgmp2Leave));
  EXPECT_TRUE(groups.query_due(now));
  EXPECT_EQ(groups.response_time(), Duration(1s));
  EXPECT_EQ(run_for(500ms), 1);
  hear(kIgmp2Join);  // another one
  run_for(10s);
  EXPECT_TRUE(groups.wanted().wants(kHostGroupsGroup2));
  hear(kIgmp2Leave);
  EXPECT_EQ(run_for(4s), 1);
  EXPECT_EQ(groups.wanted().groups, Groups{kHostGroupsGroup6});
}

TEST_F(HostGroupsTest, IsNotMadeToAskWithoutEnd) {
  run_for(4s);
  int queries = 0;
  for (int i = 0; i < 1000; ++i) {
    hear(kIgmp2Join);
    hear(kIgmp2Leave);
    queries += run_for(10ms);
  }
  EXPECT_LE(queries, 11);
}

TEST_F(HostGroupsTest, ForgetsWhatNobodyReportsAnyMore) {
  run_for(4s);
  hear(kIgmp2Join);
  EXPECT_EQ(run_for(259s), 2);
  EXPECT_TRUE(groups.wanted().wants(kHostGroupsGroup2));
  run_for(1s);
  EXPECT_FALSE(groups.wanted().wants(kHostGroupsGroup2));
}

TEST_F(HostGroupsTest, WantsAllForAMulticastRouter) {
  run_for(4s);
  EXPECT_FALSE(groups.router());
  EXPECT_TRUE(hear_query());
  EXPECT_TRUE(groups.router());
  EXPECT_TRUE(groups.wanted().all);
  EXPECT_EQ(run_for(254s), 0);  // the router asks itself
  EXPECT_TRUE(groups.router());
  EXPECT_EQ(run_for(1s), 1);
  EXPECT_FALSE(groups.router());
  EXPECT_FALSE(groups.wanted().all);
}

TEST_F(HostGroupsTest, WantsAllWhenThereAreTooMany) {
  run_for(4s);
  for (unsigned i = 0; i < 2000; ++i) {
    std::vector<std::byte> join = bytes_of(kIgmp2Join);
    wire::store_be16(join.data() + 44, static_cast<std::uint16_t>(i));
    unsigned sum = 0x1600 + 0xEF81 + i;
    sum = (sum & 0xFFFF) + (sum >> 16);
    wire::store_be16(join.data() + 40, static_cast<std::uint16_t>(~sum));
    hear(join);
  }
  EXPECT_EQ(groups.wanted().groups.size(), GroupList::kMost);
  EXPECT_TRUE(groups.wanted().all);
  run_for(261s);
  EXPECT_FALSE(groups.wanted().all);
  EXPECT_TRUE(groups.wanted().groups.empty());
}

TEST(GroupList, HasTheBytesOfTheTable) {
  GroupList list{.all = true, .groups = {kHostGroupsGroup2, kHostGroupsGroup6}};
  std::vector<std::byte> bytes;
  list.write(bytes);
  EXPECT_EQ(bytes, bytes_of("8000000201005e010202333300000aa1"));
  EXPECT_EQ(GroupList::parse(bytes), list);
  const GroupList bonded{
      .all = false, .address = MacAddress{2, 0, 0, 0, 0, 9}, .groups = {kHostGroupsGroup2}};
  bonded.write(bytes);
  EXPECT_EQ(bytes, bytes_of("1000000102000000000901005e010202"));
  EXPECT_EQ(GroupList::parse(bytes), bonded);
  const GroupList asking{.all = true, .asks = true, .groups = {}};
  asking.write(bytes);
  EXPECT_EQ(bytes, bytes_of("84000000"));
  EXPECT_EQ(GroupList::parse(bytes), asking);
  list = {.all = false, .bridges = true, .joined = true, .no_channel = true, .groups = {}};
  list.write(bytes);
  EXPECT_EQ(bytes, bytes_of("68000000"));
  EXPECT_EQ(GroupList::parse(bytes), list);
}

TEST(GroupList, IsRefusedWhenItCannotBe) {
  for (const auto hex :
       {"", "800000", "80000001", "8000000101005e0102", "8000000001005e010202",
        "8000000102005e010202", "80000401", "80000002333300000aa101005e010202",
        "8000000201005e01020201005e010202",
        // An address of its own that is cut short, a group's, or holds a LID.
        "10000000", "100000000200000000", "1000000001005e010202", "1000000002574c000005"}) {
    EXPECT_FALSE(GroupList::parse(bytes_of(hex))) << hex;
  }
}

}  // namespace
}  // namespace weft::lan::test
