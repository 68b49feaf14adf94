// SPDX-License-Identifier: Apache-2.0
// The language of rule files: what is understood, and what errors say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "service/firewall/rule_set.h"

namespace weft::service::firewall {
namespace {

using testing::HasSubstr;

// The rules in a base chain, from line 4 on.
std::string in_chain(const std::string& rules) {
  return "table t {\nchain forward {\nhook forward; policy drop;\n" + rules + "\n}\n}\n";
}

RuleSet read_rules(const std::string& text) {
  auto out = RuleSet::parse(text, "rules");
  EXPECT_TRUE(out) << out.error().message;
  return out ? std::move(*out) : RuleSet{};
}

std::string error_of(const std::string& text) {
  const auto out = RuleSet::parse(text, "rules");
  EXPECT_FALSE(out) << text;
  return out ? "" : out.error().message;
}

const Ranges& ranges_of(const RuleSet& rules, Field field, std::size_t rule = 0) {
  static const Ranges kNone;
  for (const Condition& condition : rules.chains[rules.base].rules.at(rule).conditions) {
    if (condition.field == field) return condition.ranges;
  }
  return kNone;
}

Range range(std::uint64_t low, std::uint64_t high) {
  return {Wide(low), Wide(high)};
}

TEST(FirewallRules, ReadsTheExampleOfTheDocs) {
  const RuleSet rules = read_rules(R"(# who may talk to the database
define ADMINS = { 0x11, 0x12-0x14 }
table fabric {
  set databases {
    type gid
    elements = { fe80::1,
                 fd00:0:0:2::/64 }   # two of them
  }
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct state established accept
    slid $ADMINS accept comment "administrators"
    dgid @databases cm message req jump database
    opcode { rdma-read, atomic } limit rate 10/second burst 20 packets log prefix "read " drop
    opaque log drop
  }
  chain database {
    service tcp:5432 cm private-data 0/2 0x0a00-0x0aff accept
    counter
    return
  }
})");
  EXPECT_EQ(rules.table, "fabric");
  ASSERT_EQ(rules.chains.size(), 2u);
  EXPECT_EQ(rules.rules(), 8u);
  EXPECT_EQ(ranges_of(rules, Field::slid, 1), (Ranges{range(0x11, 0x14)}));
  EXPECT_EQ(rules.chains[0].rules[1].comment, "administrators");
  EXPECT_EQ(rules.chains[0].rules[2].action, Action::jump);
  EXPECT_EQ(rules.chains[0].rules[2].target, 1);
  EXPECT_EQ(ranges_of(rules, Field::dgid, 2).size(), 2u);
  const Rule& limited = rules.chains[0].rules[3];
  ASSERT_TRUE(limited.limit);
  EXPECT_EQ(limited.limit->packets, 10u);
  EXPECT_EQ(limited.limit->burst, 20u);
  EXPECT_TRUE(limited.log);
  EXPECT_EQ(limited.log_prefix, "read ");
  EXPECT_EQ(limited.line, 14u);
  ASSERT_EQ(rules.private_fields.size(), 1u);
  EXPECT_EQ(rules.private_fields[0], (PrivateBytes{0, 2}));
}

TEST(FirewallRules, KeepsToTheFamilyOfAnIpAddressWhenItNegates) {
  const RuleSet rules =
      read_rules(in_chain("ip saddr != 10.0.0.0/8 drop\nip6 saddr != fd00::/8 drop"));
  const Wide v4(Gid::from_ipv4(0x0B000001));
  const Wide ten(Gid::from_ipv4(0x0A000001));
  EXPECT_TRUE(contains(ranges_of(rules, Field::ip_source, 0), v4));
  EXPECT_FALSE(contains(ranges_of(rules, Field::ip_source, 0), ten));
  EXPECT_FALSE(contains(ranges_of(rules, Field::ip_source, 0), Wide(0x2001'0db8'0000'0000, 1)));
  EXPECT_TRUE(contains(ranges_of(rules, Field::ip_source, 1), Wide(0x2001'0db8'0000'0000, 1)));
  EXPECT_FALSE(contains(ranges_of(rules, Field::ip_source, 1), v4));
}

TEST(FirewallRules, ImpliesTheProtocolOfAPort) {
  const RuleSet rules = read_rules(in_chain("tcp dport 22 accept\nudp sport { 53, 67-68 } accept"));
  EXPECT_EQ(ranges_of(rules, Field::protocol, 0), (Ranges{range(6, 6)}));
  EXPECT_EQ(ranges_of(rules, Field::source_port, 1), (Ranges{range(53, 53), range(67, 68)}));
}

TEST(FirewallRules, ComparesNumbers) {
  const RuleSet rules =
      read_rules(in_chain("message > 1MiB drop\nsize <= 256 accept\nsl != 3 drop\n"
                          "dqp >= 0x100 drop\nvl < 2 drop"));
  EXPECT_EQ(ranges_of(rules, Field::message, 0), (Ranges{range(0x100001, 0xFFFFFFFF)}));
  EXPECT_EQ(ranges_of(rules, Field::size, 1), (Ranges{range(0, 256)}));
  EXPECT_EQ(ranges_of(rules, Field::sl, 2), (Ranges{range(0, 2), range(4, 15)}));
  EXPECT_EQ(ranges_of(rules, Field::dest_qp, 3), (Ranges{range(0x100, 0xFFFFFF)}));
  EXPECT_EQ(ranges_of(rules, Field::vl, 4), (Ranges{range(0, 1)}));
}

TEST(FirewallRules, TakesFamiliesOfOpcodesAndEachByItsName) {
  const RuleSet rules =
      read_rules(in_chain("opcode rdma-read drop\nopcode rc-rdma-write-only-imm drop\n"
                          "opcode unknown drop\nopcode 0x64 drop"));
  const Ranges& reads = ranges_of(rules, Field::opcode, 0);
  EXPECT_TRUE(contains(reads, Wide(0x0C)));
  EXPECT_TRUE(contains(reads, Wide(0x10)));
  EXPECT_TRUE(contains(reads, Wide(0xAC)));  // XRC's
  EXPECT_FALSE(contains(reads, Wide(0x0B)));
  EXPECT_EQ(ranges_of(rules, Field::opcode, 1), (Ranges{range(0x0B, 0x0B)}));
  EXPECT_TRUE(contains(ranges_of(rules, Field::opcode, 2), Wide(0x1F)));
  EXPECT_EQ(ranges_of(rules, Field::opcode, 3), (Ranges{range(0x64, 0x64)}));
}

TEST(FirewallRules, LetsNothingUnknownMatchUnlessARuleOfTheBaseChainSaysSo) {
  const RuleSet rules = read_rules(in_chain("accept\nct state untracked accept"));
  EXPECT_EQ(ranges_of(rules, Field::state, 0), (Ranges{range(0, 2)}));
  EXPECT_EQ(ranges_of(rules, Field::state, 1), (Ranges{range(4, 4)}));
}

TEST(FirewallRules, NamesLineAndColumnAndWhatWouldBeRight) {
  struct Case {
    const char* rules;
    const char* error;
  };
  const Case cases[] = {
      {"slid 0x10000 accept", "rules:4:6: want a LID, from 0 to 0xffff"},
      {"  sldi 3 accept", "rules:4:3: want a condition (slid, dlid"},
      {"mad klass 3 accept", "rules:4:5: want one of these behind 'mad': class, method"},
      {"opcode rdma-raed drop", "rules:4:8: want an opcode: send, rdma-write"},
      {"dgid fe80::1/10 accept", "rules:4:6: want a GID as"},
      {"slid 9-3 accept", "rules:4:6: the range ends before it begins"},
      {"slid { 1, 2 accept", "rules:4:13: want ','"},
      {"slid {} accept", "rules:4:6: an empty list matches nothing"},
      {"slid @x accept", "rules:4:7: there is no set 'x' above this line"},
      {"slid $x accept", "rules:4:7: there is no definition 'x' above this line"},
      {"slid @", "rules:4:7: want the name of a set behind '@'"},
      {"slid $ # x", "rules:4:11: want the name of a definition behind '$'"},
      {"sl 1 sl 2 accept", "rules:4:6: this and another condition of the rule exclude each other"},
      {"tcp dport 1 udp sport 2 drop", "rules:4:13: this and another condition"},
      {"accept drop", "rules:4:8: nothing but a comment stands behind a verdict"},
      {"jump nowhere", "rules:4:6: there is no chain 'nowhere'"},
      {"jump forward", "rules:4:6: nothing jumps to the chain that packets come to"},
      {"limit rate 10/fortnight drop", "rules:4:12: want packets in a time as 10/second"},
      {"log prefix \"abc", "rules:4:12: this text has no closing quotation mark in its line"},
      {"cm private-data 0/9 1 drop", "rules:4:17: want OFFSET/LENGTH as 0/4"},
      {"cm private-data 0/1 256 drop", "rules:4:21: want a number, the first byte being"},
      {"vl < 0 drop", "rules:4:6: no value can be so"},
      {"opcode < 3 drop", "rules:4:10: '<' wants one number"},
      {"sl != 0-15 drop", "rules:4:7: no value differs from these"},
      {"ip saddr 2001:db8::1 drop", "rules:4:10: want an address as 192.0.2.1"},
      {"ip6 saddr ::ffff:192.0.2.1 drop", "rules:4:11: want an address as 2001:db8::1"},
      {"%", "rules:4:1: '%' has no meaning here"},
      {"\x01", "rules:4:1: the byte 0x01 has no meaning outside of comments"},
      {"accept\npolicy accept;", "rules:5:1: the policy stands before the chain's rules"},
  };
  for (const Case& wrong : cases)
    EXPECT_THAT(error_of(in_chain(wrong.rules)), HasSubstr(wrong.error)) << wrong.rules;
}

TEST(FirewallRules, RefusesFilesThatAreNotWhole) {
  EXPECT_THAT(error_of(""), HasSubstr("rules:1:1: there is no table"));
  EXPECT_THAT(error_of("table t {\n"), HasSubstr("rules:2:1: want 'chain NAME {'"));
  EXPECT_THAT(error_of("table t {\nchain a {\naccept\n}\n}"),
              HasSubstr("no chain has packets come to it"));
  EXPECT_THAT(error_of("table t {\nchain a {\nhook forward\naccept\n}\n}"),
              HasSubstr("rules:2:7: the chain that packets come to needs 'policy drop;'"));
  EXPECT_THAT(error_of("table t {\nchain a {\npolicy drop\naccept\n}\n}"),
              HasSubstr("rules:3:1: only the chain with 'hook forward' has a policy"));
  EXPECT_THAT(error_of("table t {\nchain a {\nhook forward; policy drop;\naccept"),
              HasSubstr("rules:4:7: the chain has no end: want '}'"));
  EXPECT_THAT(error_of("table t {\nset s {\n}\n}"), HasSubstr("rules:2:5: the set has no type"));
  EXPECT_THAT(error_of("table t {\nset s {\ntype gid\nelements = { 7 }\n}\n}"),
              HasSubstr("rules:4:14: want a GID as"));
  EXPECT_THAT(error_of("define A = { 1\n"), HasSubstr("the definition has no end"));
  EXPECT_THAT(error_of("define A = $B\n"), HasSubstr("not other definitions"));
}

TEST(FirewallRules, RefusesASetOfAnotherSort) {
  EXPECT_THAT(error_of("table t {\nset s {\ntype lid\nelements = { 7 }\n}\nchain a {\n"
                       "hook forward; policy drop\ndgid @s accept\n}\n}"),
              HasSubstr("rules:8:7: 's' is a set of lid, but 'dgid' wants a GID"));
}

TEST(FirewallRules, RefusesChainsThatAPacketMightNeverLeave) {
  const std::string loop =
      "table t {\nchain f {\nhook forward; policy drop\njump a\n}\nchain a {\njump b\n}\n"
      "chain b {\njump a\n}\n}";
  EXPECT_THAT(error_of(loop), HasSubstr("leads back here"));
  std::string deep = "table t {\nchain f {\nhook forward; policy drop\njump c1\n}\n";
  for (int i = 1; i <= 18; ++i)
    deep += "chain c" + std::to_string(i) + " {\njump c" + std::to_string(i + 1) + "\n}\n";
  deep += "chain c19 {\naccept\n}\n}";
  EXPECT_THAT(error_of(deep), HasSubstr("more than 16 jumps lead into each other"));
  // Eight chains, each of which jumps eight times into the next one: 8^8 rules for one packet.
  std::string wide = "table t {\nchain f {\nhook forward; policy drop\njump c1\n}\n";
  for (int i = 1; i <= 8; ++i) {
    wide += "chain c" + std::to_string(i) + " {\n";
    for (int j = 0; j < 8; ++j)
      wide += i == 8 ? "counter\n" : "jump c" + std::to_string(i + 1) + "\n";
    wide += "}\n";
  }
  EXPECT_THAT(error_of(wide + "}"), HasSubstr("a packet could come by more than 65536 rules"));
}

TEST(FirewallRules, BoundsWhatAFileMayHave) {
  std::string many = "table t {\nchain forward {\nhook forward; policy drop;\n";
  for (std::size_t i = 0; i <= kMostRules; ++i)
    many += "accept\n";
  EXPECT_THAT(error_of(many + "}\n}"), HasSubstr("there are more than 32768 rules"));
  // A definition of a thousand values, used again and again.
  std::string again = "define A = { 0";
  for (int i = 1; i < 1000; ++i)
    again += "," + std::to_string(i * 2);
  again += "}\ntable t {\nchain forward {\nhook forward; policy drop;\n";
  for (int i = 0; i < 1100; ++i)
    again += "slid $A accept\n";
  EXPECT_THAT(error_of(again + "}\n}"), HasSubstr("have more than 1048576 values"));
  EXPECT_THAT(error_of(std::string(kMostText + 1, ' ')), HasSubstr("at most 16777216 bytes"));
}

}  // namespace
}  // namespace weft::service::firewall
