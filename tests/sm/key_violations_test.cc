// SPDX-License-Identifier: Apache-2.0
// Wrong keys, as the manager says them.
#include "sm/key_violations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "managed_lab.h"
#include "wire/sm/bad_key.h"

namespace weft::sm {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;
using wire::TrapNumber;

template <class Details>
std::string described(TrapNumber trap, const Details& details) {
  wire::Notice notice{.type = wire::NoticeType::kSecurity, .trap = trap};
  details.write(notice.details);
  EXPECT_TRUE(is_key_violation(notice));
  return describe_violation(notice);
}

TEST(KeyViolations, AreDescribedByThePacketThatHadTheKey) {
  const wire::BadKeyDetails key{.slid = Lid{3},
                                .dlid = Lid{4},
                                .key = 0x8011,
                                .sl = Sl{2},
                                .source_qp = Qpn{0x2A},
                                .dest_qp = Qpn{1}};
  EXPECT_EQ(described(TrapNumber::kBadPkey, key),
            "Bad P_Key (trap 257): P_Key 0x8011 on SL 2 from LID 3 QP 0x00002a to LID 4 QP "
            "0x000001");
  EXPECT_EQ(described(TrapNumber::kBadQkey, key),
            "Bad Q_Key (trap 258): Q_Key 0x00008011 on SL 2 from LID 3 QP 0x00002a to LID 4 QP "
            "0x000001");
  EXPECT_EQ(
      described(TrapNumber::kBadPkeyAtSwitch, wire::BadPkeyAtSwitchDetails{.slid = Lid{3},
                                                                           .dlid = Lid{4},
                                                                           .pkey = PKey{0x11},
                                                                           .source_qp = Qpn{5},
                                                                           .dest_qp = Qpn{6},
                                                                           .port = 7}),
      "Bad P_Key at a switch's port (trap 259): port 7: P_Key 0x0011 on SL 0 from LID 3 QP "
      "0x000005 to LID 4 QP 0x000006");
  wire::BadMkeyDetails mkey{
      .slid = Lid{3}, .method = wire::MadMethod::kSet, .attribute = 0x15, .modifier = 1, .mkey = 7};
  EXPECT_EQ(described(TrapNumber::kBadMkey, mkey),
            "Bad M_Key (trap 256): M_Key 0x0000000000000007 in SubnSet of attribute 0x0015 "
            "modifier 0x1 from LID 3");
  mkey.is_directed = true;
  mkey.hops = 2;
  EXPECT_THAT(described(TrapNumber::kBadMkey, mkey), EndsWith(", by a directed route of 2 hops"));
}

TEST(KeyViolations, AreNoOtherTraps) {
  EXPECT_FALSE(is_key_violation({.trap = TrapNumber::kCapabilityChange}));
  EXPECT_FALSE(is_key_violation({.trap = static_cast<TrapNumber>(260)}));
  EXPECT_FALSE(is_key_violation({.generic = false, .trap = TrapNumber::kBadPkey}));
}

TEST(KeyViolations, AreSaidOnceInAWhileAndThenHowManyThereWere) {
  KeyViolations violations;
  const auto take = [&](std::uint16_t lid, Duration when, TrapNumber trap = TrapNumber::kBadPkey) {
    return violations.take(Lid{lid}, trap, Time(when));
  };
  EXPECT_EQ(take(1, 0s), 0u);
  EXPECT_EQ(take(1, 1s), std::nullopt);
  EXPECT_EQ(take(1, 1s, TrapNumber::kBadQkey), 0u) << "something else";
  EXPECT_EQ(take(2, 1s), 0u);
  EXPECT_EQ(take(1, 9s), std::nullopt);
  EXPECT_EQ(take(1, 10s), 2u);
  EXPECT_EQ(take(1, 20s), 0u);
  EXPECT_EQ(take(1, 21s), std::nullopt);
  EXPECT_EQ(take(1, 60s), 0u) << "it was quiet meanwhile";
}

TEST(KeyViolations, OfMorePortsThanAreKnownWait) {
  KeyViolations violations;
  for (std::uint16_t lid = 1; lid <= KeyViolations::kMostSources; ++lid)
    EXPECT_EQ(violations.take(Lid{lid}, TrapNumber::kBadPkey, Time(0s)), 0u);
  constexpr Lid kOther{KeyViolations::kMostSources + 1};
  EXPECT_EQ(violations.take(kOther, TrapNumber::kBadPkey, Time(1s)), std::nullopt);
  EXPECT_EQ(violations.take(kOther, TrapNumber::kBadPkey, Time(20s)), 0u);
}

TEST(KeyViolations, AreSaidByTheManagerWithThePortThatReportsThem) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  std::vector<std::string> said;
  lab.manager->on_event([&](const ManagerEvent& event) {
    if (event.kind == ManagerEvent::Kind::kTrap) said.push_back(event.text);
  });
  const auto violate = [&](const std::string& name, std::uint32_t key) {
    fabric::Node& node = *lab.running.fabric.find_node(name);
    node.management().key_violated(1, {.key = key, .slid = lab.lid("d")}, lab.running.now);
    node.management_used();
    lab.run_for(100ms);
  };
  violate("c", 0x8077);
  violate("c", 0x8078);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], StartsWith("Bad P_Key (trap 257): P_Key 0x8077 on SL 0 from LID " +
                                  std::to_string(lab.lid("d").value())));
  EXPECT_THAT(said[0], EndsWith(" (c) port 1"));
  lab.run_for(KeyViolations::kQuiet);
  violate("c", 0x8079);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[1], EndsWith("; 1 more since it was said before"));
}

}  // namespace
}  // namespace weft::sm
