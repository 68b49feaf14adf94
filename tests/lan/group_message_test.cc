// SPDX-License-Identifier: Apache-2.0
#include "lan/group_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "group_frames.h"
#include "lan/group_query.h"
#include "lan/lan_address.h"

namespace weft::lan::test {
namespace {

using GroupKind = GroupMessage::Kind;
using Said = std::vector<std::pair<MacAddress, bool>>;
using GroupFrame = std::vector<std::byte>;

constexpr MacAddress kGroup1{0x01, 0x00, 0x5E, 0x01, 0x02, 0x01};
constexpr MacAddress kGroupMessageGroup2{0x01, 0x00, 0x5E, 0x01, 0x02, 0x02};
constexpr MacAddress kGroup3{0x01, 0x00, 0x5E, 0x01, 0x02, 0x03};
constexpr MacAddress kGroupOfSource{0x01, 0x00, 0x5E, 0x01, 0x01, 0x01};
constexpr MacAddress kGroupMessageGroup6{0x33, 0x33, 0x00, 0x00, 0x0A, 0xA1};
constexpr MacAddress kGroup7{0x33, 0x33, 0x00, 0x00, 0x0A, 0xA2};

GroupKind kind_of_frame(Bytes frame) {
  return GroupMessage::read(*EthernetFrame::read(frame)).kind();
}

Said said(std::string_view hex) {
  const GroupFrame frame = bytes_of(hex);
  const GroupMessage message = GroupMessage::read(*EthernetFrame::read(frame));
  EXPECT_EQ(message.kind(), GroupKind::kReport);
  Said out;
  message.for_each([&](const MacAddress& group, bool wanted) { out.emplace_back(group, wanted); });
  return out;
}

TEST(GroupMessage, IsReadAsLinuxSaysItInEachVersion) {
  EXPECT_EQ(said(kIgmp1Join), (Said{{kGroup1, true}}));
  EXPECT_EQ(said(kIgmp2Join), (Said{{kGroupMessageGroup2, true}}));
  EXPECT_EQ(said(kIgmp2Leave), (Said{{kGroupMessageGroup2, false}}));
  EXPECT_EQ(said(kIgmp3Join), (Said{{kGroup3, true}}));
  EXPECT_EQ(said(kIgmp3Leave), (Said{{kGroup3, false}}));
  EXPECT_EQ(said(kIgmp3JoinSource), (Said{{kGroupOfSource, true}}));
  EXPECT_EQ(said(kIgmp3LeaveSource), (Said{{kGroupOfSource, false}}));
  EXPECT_EQ(said(kMld1Join), (Said{{kGroupMessageGroup6, true}}));
  EXPECT_EQ(said(kMld1Done), (Said{{kGroupMessageGroup6, false}}));
  EXPECT_EQ(said(kMld2Join), (Said{{kGroup7, true}}));
  EXPECT_EQ(said(kMld2Leave), (Said{{kGroup7, false}}));
}

TEST(GroupMessage, IsReadBehindVlanTags) {
  GroupFrame frame = bytes_of(kIgmp3Join);
  for (const int tag : {0x81, 0x88}) {
    const GroupFrame bytes{std::byte(static_cast<unsigned char>(tag)),
                           std::byte(static_cast<unsigned char>(tag == 0x81 ? 0x00 : 0xA8)),
                           std::byte{0}, std::byte{7}};
    frame.insert(frame.begin() + 12, bytes.begin(), bytes.end());
    EXPECT_EQ(kind_of_frame(frame), GroupKind::kReport);
  }
}

TEST(GroupMessage, OfManyGroupsIsReadWholeOrNotAtAll) {
  // Two records, the first with a source and auxiliary data.
  GroupFrame frame = bytes_of(kIgmp3Join);
  const GroupFrame records = bytes_of("01010001ef8102040a000009aabbccdd04000000ef810203");
  frame.resize(14 + 24 + 8);
  frame.insert(frame.end(), records.begin(), records.end());
  frame[14 + 3] = std::byte{24 + 8 + 24};
  frame[14 + 24 + 7] = std::byte{2};
  const auto read = [&] {
    // Its checksum, anew.
    frame[40] = frame[41] = std::byte{0};
    unsigned sum = 0;
    for (std::size_t at = 38; at + 1 < frame.size(); at += 2)
      sum += wire::load_be16(frame.data() + at);
    wire::store_be16(frame.data() + 40, static_cast<std::uint16_t>(~(sum % 0xFFFF)));
    return GroupMessage::read(*EthernetFrame::read(frame));
  };
  Said all;
  read().for_each([&](const MacAddress& group, bool wanted) { all.emplace_back(group, wanted); });
  EXPECT_EQ(all, (Said{{{0x01, 0x00, 0x5E, 0x01, 0x02, 0x04}, true}, {kGroup3, true}}));
  for (const int count : {3, 255}) {
    frame[14 + 24 + 7] = static_cast<std::byte>(count);
    EXPECT_EQ(read().kind(), GroupKind::kMalformed);
  }
  frame[14 + 24 + 7] = std::byte{2};
  frame[14 + 24 + 8 + 3] = std::byte{200};  // sources
  EXPECT_EQ(read().kind(), GroupKind::kMalformed);
  frame[14 + 24 + 8 + 3] = std::byte{1};
  frame[14 + 24 + 8] = std::byte{7};  // of no kind
  EXPECT_EQ(read().kind(), GroupKind::kMalformed);
  frame[14 + 24 + 8] = std::byte{1};
  frame[14 + 24 + 8 + 4] = std::byte{10};  // no group
  EXPECT_EQ(read().kind(), GroupKind::kMalformed);
}

TEST(GroupMessage, ThatIsCutOrChangedAnywhereIsNone) {
  for (const auto hex : {kIgmp1Join, kIgmp2Leave, kIgmp3Join, kIgmp3JoinSource}) {
    const GroupFrame whole = bytes_of(hex);
    for (std::size_t size = 14; size < whole.size(); ++size)
      EXPECT_NE(kind_of_frame(Bytes(whole).first(size)), GroupKind::kReport) << size;
    for (std::size_t at = 38; at < whole.size(); ++at) {
      GroupFrame changed = whole;
      changed[at] ^= std::byte{0x10};
      EXPECT_NE(kind_of_frame(changed), GroupKind::kReport) << at;
    }
  }
  for (const auto hex : {kMld1Join, kMld1Done, kMld2Join}) {
    const GroupFrame whole = bytes_of(hex);
    for (std::size_t size = 14; size < whole.size(); ++size)
      EXPECT_NE(kind_of_frame(Bytes(whole).first(size)), GroupKind::kReport) << size;
    for (std::size_t at = 14 + 8; at < whole.size(); ++at) {
      if (at >= 54 && at < 62) continue;  // the options, which no checksum covers
      GroupFrame changed = whole;
      changed[at] ^= std::byte{0x10};
      EXPECT_NE(kind_of_frame(changed), GroupKind::kReport) << at;
    }
    GroupFrame routed = whole;
    routed[14 + 7] = std::byte{2};
    EXPECT_EQ(kind_of_frame(routed), GroupKind::kMalformed);
  }
}

TEST(GroupMessage, IsNotSeenInOtherFrames) {
  GroupFrame frame = bytes_of(kIgmp3Join);
  frame[14 + 9] = std::byte{17};
  EXPECT_EQ(kind_of_frame(frame), GroupKind::kNone);
  frame[12] = std::byte{0x88};
  EXPECT_EQ(kind_of_frame(frame), GroupKind::kNone);
  GroupFrame neighbour = bytes_of(kMld2Join);
  neighbour[14 + 40 + 8] = std::byte{135};
  EXPECT_EQ(kind_of_frame(neighbour), GroupKind::kNone);
}

// Given to a TAP interface of Linux 6.18, each is answered with all groups of its family.
TEST(GroupQueries, AreThoseThatLinuxAnswers) {
  const GroupQueries queries(mac_of({.base = Lid{6}}), 1s);
  EXPECT_TRUE(std::ranges::equal(queries.igmp(),
                                 bytes_of("01005e00000102574c000006080046c000240000000001024413"
                                          "00000000e000000194040000110aec7800000000027d0000")));
  EXPECT_TRUE(std::ranges::equal(
      queries.mld(), bytes_of("33330000000102574c00000686dd6000000000240001"
                              "fe8000000000000000574cfffe000006ff0200000000000000000000000000013a"
                              "0005020000010082002e6203e8000000000000000000000000000000000000027d"
                              "0000")));
}

TEST(GroupQueries, AreOfARouterOnlyWhenSomebodySendsThem) {
  const GroupQueries queries(mac_of({.base = Lid{6}}), 1s);
  EXPECT_EQ(kind_of_frame(queries.igmp()), GroupKind::kNone);
  EXPECT_EQ(kind_of_frame(queries.mld()), GroupKind::kQuery);
  GroupFrame asked(queries.igmp().begin(), queries.igmp().end());
  wire::store_be32(asked.data() + 14 + 12, 0x0A000001);
  EXPECT_EQ(kind_of_frame(asked), GroupKind::kQuery);
}

TEST(ReportedGroups, AreThoseOfIpBeyondTheirOwnLink) {
  for (const MacAddress& group :
       {kGroup1, kGroupMessageGroup6, MacAddress{0x01, 0x00, 0x5E, 0, 1, 0}})
    EXPECT_TRUE(is_reported_group(group));
  for (const MacAddress& group :
       {MacAddress{0x01, 0x00, 0x5E, 0, 0, 251}, MacAddress{0x33, 0x33, 0, 0, 0, 1},
        MacAddress{0x01, 0x80, 0xC2, 0, 0, 0x0E}, MacAddress{0x01, 0x00, 0x5E, 0x80, 1, 1}}) {
    EXPECT_FALSE(is_reported_group(group));
  }
}

}  // namespace
}  // namespace weft::lan::test
