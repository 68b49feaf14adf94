// SPDX-License-Identifier: Apache-2.0
#include "io/link_facts.h"

#include <gtest/gtest.h>
#include <linux/if_bonding.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace weft::io {
namespace {

using Text = std::vector<std::byte>;

Text text_of(const void* from, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  return {bytes, bytes + size};
}

// With what follows it where it ends, as rtnetlink(3) has it.
Text attribute(unsigned short type, const Text& value) {
  const rtattr head{.rta_len = static_cast<unsigned short>(RTA_LENGTH(value.size())),
                    .rta_type = type};
  Text out = text_of(&head, sizeof head);
  out.insert(out.end(), value.begin(), value.end());
  out.resize(RTA_ALIGN(out.size()));
  return out;
}

Text joined(std::initializer_list<Text> parts) {
  Text out;
  for (const Text& part : parts)
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

Text message(unsigned short type, const Text& attributes) {
  nlmsghdr head{};
  head.nlmsg_type = type;
  head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof(ifinfomsg)) + attributes.size());
  const ifinfomsg link{};
  return joined({text_of(&head, sizeof head), text_of(&link, sizeof link), attributes});
}

Text member_of(const std::string& kind, std::uint8_t state) {
  const Text data = attribute(IFLA_BOND_SLAVE_STATE, text_of(&state, 1));
  return attribute(IFLA_LINKINFO,
                   joined({attribute(IFLA_INFO_SLAVE_KIND, text_of(kind.c_str(), kind.size() + 1)),
                           attribute(IFLA_INFO_SLAVE_DATA, data)}));
}

constexpr std::array<std::uint8_t, 6> kLinkFactsMac{2, 0, 0, 0, 0, 7};
constexpr std::uint32_t kMtu = 9000;
const Text kMtuText = attribute(IFLA_MTU, text_of(&kMtu, sizeof kMtu));
const Text kMacText = attribute(IFLA_ADDRESS, text_of(kLinkFactsMac.data(), kLinkFactsMac.size()));

TEST(LinkFacts, AreReadOfAnInterfaceAlone) {
  EXPECT_EQ(LinkFacts::parse(message(RTM_NEWLINK, joined({kMtuText, kMacText}))),
            (LinkFacts{.mtu = kMtu, .mac = kLinkFactsMac}));
  EXPECT_EQ(LinkFacts::parse(message(RTM_NEWADDR, joined({kMtuText, kMacText}))), std::nullopt);
  EXPECT_EQ(LinkFacts::parse(message(RTM_NEWLINK, kMtuText)), std::nullopt);
  EXPECT_EQ(LinkFacts::parse(message(RTM_NEWLINK, kMacText)), std::nullopt);
  const Text four = attribute(IFLA_ADDRESS, Text(4));  // of another kind than Ethernet
  EXPECT_EQ(LinkFacts::parse(message(RTM_NEWLINK, joined({kMtuText, four}))), std::nullopt);
  EXPECT_EQ(LinkFacts::parse({}), std::nullopt);
}

TEST(LinkFacts, TellMembersOfBondsAndBridges) {
  const auto facts = [](const Text& member) {
    return LinkFacts::parse(message(RTM_NEWLINK, joined({kMtuText, kMacText, member}))).value();
  };
  const auto backup = [&](const Text& member) { return facts(member).backup; };
  const auto in_bridge = [&](const Text& member) { return facts(member).in_bridge; };
  EXPECT_TRUE(backup(member_of("bond", BOND_STATE_BACKUP)));
  EXPECT_FALSE(backup(member_of("bond", BOND_STATE_ACTIVE)));
  // What the first of its attributes is to bridges, its number says nothing of.
  EXPECT_FALSE(backup(member_of("bridge", 1)));
  EXPECT_FALSE(backup(attribute(IFLA_LINKINFO, {})));
  EXPECT_TRUE(in_bridge(member_of("bridge", 1)));
  EXPECT_FALSE(in_bridge(member_of("bond", BOND_STATE_ACTIVE)));
  EXPECT_FALSE(in_bridge(attribute(IFLA_LINKINFO, {})));
}

}  // namespace
}  // namespace weft::io
