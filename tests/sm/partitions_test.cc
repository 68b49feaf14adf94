// SPDX-License-Identifier: Apache-2.0
// Files in the format of OpenSM's partitions.conf: what they come to, and what is said of wrong
// ones. What OpenSM makes of them is from its source, where the manual page leaves it open.
#include "sm/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gid_text.h"

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::NodeType;

Partitions parsed(const std::string& text) {
  auto partitions = Partitions::parse(text, "p.conf");
  if (!partitions) {
    ADD_FAILURE() << partitions.error().message;
    return {};
  }
  return *partitions;
}

std::string error_of(const std::string& text) {
  const auto partitions = Partitions::parse(text, "p.conf");
  return partitions ? "no error" : partitions.error().message;
}

std::vector<unsigned> keys(const Partitions& partitions, std::uint64_t guid,
                           NodeType type = NodeType::kChannelAdapter, bool is_manager = false) {
  std::vector<unsigned> values;
  for (const PKey key : partitions.keys_of({Guid{guid}, type, is_manager}).all)
    values.push_back(key.value());
  return values;
}

TEST(Partitions, AreOneThatHasEverybodyWithoutAFile) {
  const Partitions standard = Partitions::standard();
  EXPECT_THAT(keys(standard, 1), ElementsAre(0xFFFF));
  EXPECT_THAT(keys(standard, 2, NodeType::kSwitch), ElementsAre(0xFFFF));
  ASSERT_THAT(standard.groups, SizeIs(1));
  EXPECT_EQ(standard.groups[0].mgid.to_string(), "ff12:401b:ffff::ffff:ffff");
  EXPECT_EQ(standard.groups[0].qkey, QKey{0x0B1B});
  EXPECT_EQ(standard.groups[0].rate, 3);
  EXPECT_EQ(standard.groups[0].mtu, 4);
}

TEST(Partitions, AreTheSameWithAFileThatSaysNothing) {
  EXPECT_EQ(parsed("# nothing\n\n").groups, Partitions::standard().groups);
  EXPECT_THAT(keys(parsed("  ;; # nothing\n"), 1), ElementsAre(0xFFFF));
}

TEST(Partitions, LeaveEverybodyButTheManagerLimitedWhereAFileSaysNothingOfTheDefaultOne) {
  const Partitions file = parsed("Storage=0x80 : 0x11=full ;");
  EXPECT_THAT(keys(file, 0x11), ElementsAre(0x7FFF, 0x8080));
  EXPECT_THAT(keys(file, 0x12), ElementsAre(0x7FFF));
  EXPECT_THAT(keys(file, 0x13, NodeType::kChannelAdapter, true), ElementsAre(0xFFFF));
  EXPECT_THAT(file.groups, IsEmpty());
}

TEST(Partitions, TakeTheLastRuleThatIsAboutAPort) {
  const Partitions file = parsed(
      "Default=0x7fff : ALL, ALL_SWITCHES=full, SELF=full ;\n"
      "A=0x10 : 0x5=full, ALL=limited, 0x6=full;");
  EXPECT_THAT(keys(file, 1, NodeType::kSwitch), ElementsAre(0xFFFF, 0x10));
  EXPECT_THAT(keys(file, 1, NodeType::kRouter), ElementsAre(0x7FFF, 0x10));
  EXPECT_THAT(keys(file, 5), ElementsAre(0x7FFF, 0x10));
  EXPECT_THAT(keys(file, 6, NodeType::kChannelAdapter, true), ElementsAre(0xFFFF, 0x8010));
}

TEST(Partitions, KnowEveryWordForMembers) {
  const Partitions file = parsed(
      "A=1:ALL_CAS=full;B=2:ALL_SWITCHES=full;C=3:ALL_ROUTERS=full;D=4:SELF=full;E=5:NONE;"
      "F=6:ALL_VCAS=full;");
  EXPECT_THAT(keys(file, 1), ElementsAre(0x7FFF, 0x8001));
  EXPECT_THAT(keys(file, 1, NodeType::kSwitch), ElementsAre(0x7FFF, 0x8002));
  EXPECT_THAT(keys(file, 1, NodeType::kRouter), ElementsAre(0x7FFF, 0x8003));
  EXPECT_THAT(keys(file, 1, NodeType::kChannelAdapter, true), ElementsAre(0xFFFF, 0x8001, 0x8004));
}

// The examples of OpenSM's manual page, but for the one that OpenSM itself refuses.
TEST(Partitions, ReadTheExamplesOfOpenSm) {
  const Partitions file = parsed(R"(
NewPartition , ipoib : 0x123456=full, 0x3456789034=limi,  0x2134af2306
;
YetAnotherOne = 0x300 : SELF=full ;
YetAnotherOne = 0x300 : ALL=limited ;
ShareIO = 0x80 , defmember=full : 0x123451, 0x123452;
# 0x123453, 0x123454 will be limited
ShareIO = 0x80 : 0x123453, 0x123454, 0x123455=full;
ShareIO = 0x80 , defmember=full : 0x12345b, 0x12345c=limited,
  0x12345d;
)");
  EXPECT_THAT(keys(file, 0x123456), ElementsAre(0x7FFF, 0x8001, 0x300));
  EXPECT_THAT(keys(file, 0x3456789034), ElementsAre(0x7FFF, 0x0001, 0x300));
  EXPECT_THAT(keys(file, 0x123452), ElementsAre(0x7FFF, 0x300, 0x8080));
  EXPECT_THAT(keys(file, 0x123454), ElementsAre(0x7FFF, 0x300, 0x0080));
  EXPECT_THAT(keys(file, 0x123455), ElementsAre(0x7FFF, 0x300, 0x8080));
  EXPECT_THAT(keys(file, 0x12345c), ElementsAre(0x7FFF, 0x300, 0x0080));
  EXPECT_THAT(keys(file, 0x12345d), ElementsAre(0x7FFF, 0x300, 0x8080));
  ASSERT_THAT(file.groups, SizeIs(1));
  EXPECT_EQ(file.groups[0].mgid.to_string(), "ff12:401b:8001::ffff:ffff");
}

TEST(Partitions, MakeTheGroupsOfAFile) {
  const Partitions file = parsed(R"(
Default=0x7fff,ipoib,rate=7:
  mgid=ff12:401b::0707,sl=1 # some IPv4 group
  mgid=ff12:601b::16
  mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2,TClass=5,FlowLabel=0x1234
  ALL=full;
P=0x8021,mtu=5,sl=2,scope=2,scope=5,ipoib:
  mgid=ff12:401b:8021::1
  ALL=full;
)");
  ASSERT_THAT(file.groups, SizeIs(8));
  EXPECT_EQ(file.groups[0].rate, 7);
  EXPECT_EQ(file.groups[1].mgid.to_string(), "ff12:401b:ffff::707");
  EXPECT_EQ(file.groups[1].sl, Sl{1});
  EXPECT_EQ(file.groups[1].qkey, QKey{0x0B1B});
  EXPECT_EQ(file.groups[2].mgid.to_string(), "ff12:601b:ffff::16");
  const PartitionGroup plain{.mgid = *parse_gid("ff12::1"),
                             .pkey = kDefaultPKey,
                             .qkey = QKey{0xDEADBEEF},
                             .mtu = 2,
                             .rate = 3,
                             .sl = Sl{1},
                             .traffic_class = 5,
                             .flow_label = 0x1234};
  EXPECT_EQ(file.groups[3], plain);
  EXPECT_EQ(file.groups[4].mgid.to_string(), "ff12:401b:8021::ffff:ffff");
  EXPECT_EQ(file.groups[4].hop_limit, 0);
  EXPECT_EQ(file.groups[5].mgid.to_string(), "ff15:401b:8021::ffff:ffff");
  EXPECT_EQ(file.groups[5].hop_limit, 255);
  EXPECT_EQ(file.groups[7].mgid.to_string(), "ff15:401b:8021::1");
  EXPECT_EQ(file.partitions[1].sl, Sl{2});
  EXPECT_THAT(keys(file, 9), ElementsAre(0xFFFF, 0x8021));
}

TEST(Partitions, HaveNoServiceLevelsWithoutQualityOfService) {
  const auto file = Partitions::parse(R"(
P=0x8021,sl=2,ipoib:
  mgid=ff12::1
  mgid=ff12::2,sl=3
  ALL=full;
)",
                                      "p.conf", false);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->partitions[1].sl, Sl{0});
  // Of its groups too, but for those that say so themselves.
  ASSERT_THAT(file->groups, SizeIs(3));
  EXPECT_EQ(file->groups[0].sl, Sl{0});
  EXPECT_EQ(file->groups[1].sl, Sl{0});
  EXPECT_EQ(file->groups[2].sl, Sl{3});
  EXPECT_THAT(file->notes, ElementsAre(HasSubstr("p.conf:2: sl=2 of P_Key 0x0021 counts with")));
}

TEST(Partitions, ChooseAPKeyThatNobodyAsksFor) {
  const Partitions file = parsed("A : ALL ; B=0x2 : ALL; C : ALL; A : SELF=full; 0x3 : ALL=full;");
  EXPECT_THAT(keys(file, 1), ElementsAre(0x7FFF, 0x1, 0x2, 0x4, 0x8003));
  EXPECT_EQ(file.partitions[1].name(), "A");
}

TEST(Partitions, SayWhichPKeyBelongsFirst) {
  const Partitions file = parsed("A=0x10,indx0 : ALL=full ; B=0x20,indx0 : 0x7; C=0x30: ALL;");
  EXPECT_EQ(file.keys_of({.guid = Guid{1}}).first, PKey{0x8010});
  EXPECT_EQ(file.keys_of({.guid = Guid{7}}).first, PKey{0x20});
  EXPECT_EQ(parsed("A=0x10:ALL;").keys_of({.guid = Guid{1}}).first, std::nullopt);
}

TEST(Partitions, GiveBothPKeysWhereThatIsAllowed) {
  Partitions file = parsed("A=0x10, defmember=both : ALL ;");
  EXPECT_THAT(keys(file, 1), ElementsAre(0x7FFF, 0x8010));
  file.allow_both = true;
  EXPECT_THAT(keys(file, 1), ElementsAre(0x7FFF, 0x8010, 0x10));
}

TEST(Partitions, NoteWhatContradictsItself) {
  const Partitions file = parsed(
      "A=0x10,ipoib : 0x1=full ;\n"
      "B=0x10,ipoib,mtu=5 : 0x1=limited ;\n"
      "A=0x10 :\n mgid=ff15::9\n 0x1;");
  EXPECT_THAT(file.notes, ElementsAre(HasSubstr("p.conf:2: P_Key 0x0010 is that of 'A' already"),
                                      HasSubstr("is there since line 1 with other values"),
                                      HasSubstr("p.conf:2: port 0x1 has another membership of 'A' "
                                                "in line 1"),
                                      HasSubstr("p.conf:4: group ff15::9 is made with scope 2")));
  EXPECT_EQ(file.groups[0].mtu, 4);
  EXPECT_THAT(keys(file, 1), ElementsAre(0x7FFF, 0x10));
}

TEST(Partitions, SayWhereAFileIsWrongAndWhatWouldBeRight) {
  EXPECT_THAT(error_of("\nA=0x10\n"), HasSubstr("p.conf:2: 'A=0x10': want 'NAME=P_KEY"));
  EXPECT_THAT(error_of("A=0x18000 : ALL;"), HasSubstr("'0x18000': not a P_Key: want 0x1"));
  EXPECT_THAT(error_of("A=0x8000 : ALL;"), HasSubstr("not a P_Key"));
  EXPECT_THAT(error_of("A=ten : ALL;"), HasSubstr("'ten': not a P_Key"));
  EXPECT_THAT(error_of("A=1, color=red : ALL;"), HasSubstr("'color': not a flag of partitions"));
  EXPECT_THAT(error_of("A=1, ipoib=yes : ALL;"), HasSubstr("ipoib has no value"));
  EXPECT_THAT(error_of("A=1, mtu=4096 : ALL;"), HasSubstr("mtu='4096': want 1 to 0x5, the code"));
  EXPECT_THAT(error_of("A=1, sl=16 : ALL;"), HasSubstr("sl='16': want 0 to 0xf"));
  EXPECT_THAT(error_of("A=1, defmember=some : ALL;"), HasSubstr("want full, limited or both"));
  EXPECT_THAT(error_of("A=1 : ALL=all;"), HasSubstr("'all': want full, limited or both"));
  EXPECT_THAT(error_of("A=1 : node7;"), HasSubstr("'node7': not a member: want a port GUID"));
  EXPECT_THAT(error_of("A=1 : 0;"), HasSubstr("not a member"));
  EXPECT_THAT(error_of("A=1 : mgid=fe80::1"), HasSubstr("'fe80::1': not a multicast GID"));
  EXPECT_THAT(error_of("A=1 : mgid=ff12::1,ALL=full;"), HasSubstr("'ALL': not a flag of groups"));
  EXPECT_THAT(error_of("A=1 : mgid=ff12:401b:8002::1;"), HasSubstr("want 0x8001"));
  EXPECT_THAT(error_of("A=1 : mgid=ff12:401b::1,mtu=5;"), HasSubstr("want the rate and mtu"));
}

}  // namespace
}  // namespace weft::sm
