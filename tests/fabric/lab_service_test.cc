// SPDX-License-Identifier: Apache-2.0
// What a lab file says of data services and of rules.
#include "fabric/lab_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/lab_file.h"
#include "lab_text.h"

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kNodes =
    "[switch.s]\n[router.r]\n[node]\na = {}\nb = {}\nfw1 = { ports = 2 }\nfw2 = {}\n";  // 7 lines

std::string error_of(const std::string& text) {
  const auto lab = parse_lab(kNodes + text, "lab.toml");
  return lab ? "" : lab.error().message;
}

TEST(LabService, IsTwoLines) {
  const Lab lab = parsed(std::string(kNodes) + "[service.firewall]\nat = 'fw1'");
  ASSERT_THAT(lab.data.services, SizeIs(1));
  const LabService& service = lab.data.services[0];
  EXPECT_EQ(service.name, "firewall");
  EXPECT_EQ(service.type, "firewall");
  EXPECT_EQ(service.instances, (std::vector<LabServiceInstance>{{{.at = {"fw1", 1}, .lids = {}}}}));
  EXPECT_FALSE(service.both_work || service.by_load || service.bypass);
  EXPECT_EQ(service.select, LabService::Select::kLids);
}

TEST(LabService, HasInstancesAndPairs) {
  const Lab lab = parsed(std::string(kNodes) +
                         "[service.x]\ntype = 'process'\nat = ['fw1:2', ['fw1', 'fw2']]\n"
                         "lids = [0xF, 0xFF, 17]\npair = 'both'\nbalance = 'load'\n"
                         "if_down = 'bypass'\nselect = 'gids'\ngids = ['fd00::/64', 'fe80::b']\n"
                         "[service.monitor]\nat = 'fw2'\nlids = [100, 101]");
  const LabService& x = lab.data.services.at(0);
  EXPECT_EQ(x.instances,
            (std::vector<LabServiceInstance>{
                {{.at = {"fw1", 2}, .lids = {Lid{0xF}}}},
                {{.at = {"fw1", 1}, .lids = {Lid{0xFF}}}, {.at = {"fw2", 1}, .lids = {Lid{17}}}}}));
  EXPECT_TRUE(x.both_work && x.by_load && x.bypass);
  EXPECT_THAT(x.gids, SizeIs(2));
  EXPECT_EQ(x.gids[1].bits(), 128u);
  EXPECT_THAT(lab.data.services.at(1).instances[0][0].lids, ElementsAre(Lid{100}, Lid{101}));
}

TEST(LabService, IsLedToByRules) {
  const Lab lab = parsed(std::string(kNodes) + R"(
[[policy]]
name = "web"
from = "a"
to = ["b:1", "fe80::b", "fd00:0:0:2::/64"]
requester = [7, "fw1"]
service_id = "0x1000-0x1fff"
pkey = 0x8001
sl = 3
qos_class = 9
through = ["firewall", "monitor"]
symmetric = true
[[policy]]
service_id = 0x1234
answer = "none"
[[policy]]
answer = "direct"
[service.firewall]
at = "fw1"
[service.monitor]
at = "fw2"
)");
  ASSERT_THAT(lab.data.policies, SizeIs(3));
  const LabPolicy& web = lab.data.policies[0];
  EXPECT_EQ(web.name, "web");
  EXPECT_THAT(web.from.nodes, ElementsAre("a"));
  EXPECT_THAT(web.to.ports, ElementsAre(LabPort{"b", 1}));
  ASSERT_THAT(web.to.gids, SizeIs(2));
  EXPECT_EQ(web.to.gids[0].bits(), 128u);
  EXPECT_EQ(web.to.gids[1].bits(), 64u);
  EXPECT_THAT(web.requester.lids, ElementsAre(Lid{7}));
  EXPECT_THAT(web.requester.nodes, ElementsAre("fw1"));
  EXPECT_EQ(web.service_ids, std::pair(std::uint64_t{0x1000}, std::uint64_t{0x1FFF}));
  EXPECT_EQ(web.pkey, PKey{0x8001});
  EXPECT_EQ(web.sl, Sl{3});
  EXPECT_EQ(web.qos_class, 9);
  EXPECT_THAT(web.through, ElementsAre("firewall", "monitor"));
  EXPECT_TRUE(web.symmetric);
  EXPECT_TRUE(lab.data.policies[1].refused);
  EXPECT_EQ(lab.data.policies[1].service_ids,
            std::pair(std::uint64_t{0x1234}, std::uint64_t{0x1234}));
  EXPECT_FALSE(lab.data.policies[2].refused);
  EXPECT_TRUE(lab.data.policies[2].from.is_any());
  // As it is read, it is written.
  EXPECT_EQ(parsed(write_lab(lab)), lab);
}

TEST(LabService, IsWrittenAsItIsRead) {
  for (const char* const text :
       {"[service.firewall]\nat = [['fw1', 'fw2']]\nlids = [70, 71]\npair = 'both'",
        "[service.'x.y']\ntype = 'process'\nat = ['fw1:2', ['fw1', 'fw2']]\nbalance = 'load'",
        "[service.monitor]\nat = 'fw1:2'\nlids = [15, 255]\nselect = 'others'\nif_down = 'bypass'",
        "[service.router]\nat = ['fw1', 'fw2']\nselect = 'gids'\ngids = 'fd00::/64'"}) {
    const Lab lab = parsed(std::string(kNodes) + text);
    EXPECT_EQ(parsed(write_lab(lab)), lab) << write_lab(lab);
  }
}

TEST(LabService, SaysWhatIsWrongAndWhere) {
  const auto service = [](const std::string& text) {
    return error_of("[service.firewall]\nat = 'fw1'\n" + text);
  };
  EXPECT_EQ(service(""), "");
  EXPECT_THAT(
      error_of("[service.firewall]"),
      ::testing::AllOf(HasSubstr("lab.toml:8: service.firewall: "), HasSubstr("at = \"fw\"")));
  EXPECT_THAT(error_of("[service.x]\nat = 'fw1'"),
              HasSubstr("needs a type, one of firewall, monitor"));
  EXPECT_THAT(error_of("[service.monitor]\nat = 'c'"),
              HasSubstr("service.monitor.at: there is no node c"));
  EXPECT_THAT(error_of("[service.monitor]\nat = 's'"), HasSubstr("s is a switch"));
  EXPECT_THAT(error_of("[service.monitor]\nat = 'r'"), HasSubstr("r is a router"));
  EXPECT_THAT(error_of("[service.monitor]\nat = 'fw1:3'"), HasSubstr("fw1 has ports 1 to 2"));
  EXPECT_THAT(error_of("[service.monitor]\nat = 'fw1:x'"), HasSubstr("must be a port"));
  EXPECT_THAT(error_of("[service.monitor]\nat = ['fw1', 'fw1:1']"),
              HasSubstr("fw1 is named twice"));
  EXPECT_THAT(error_of("[service.monitor]\nat = [['fw1', 'fw2', 'a']]"),
              HasSubstr("a pair has two"));
  EXPECT_THAT(service("lids = [1, 1]"), HasSubstr("service LID 1 is there twice"));
  EXPECT_THAT(service("lids = 0xC000"), HasSubstr("must be a number from 1 to 49151"));
  EXPECT_THAT(error_of("[service.monitor]\nat = ['fw1', 'fw2']\nlids = 5"),
              HasSubstr("1 LIDs for 2 ports"));
  EXPECT_THAT(service("pair = 'yes'"), HasSubstr("must be \"standby\" or \"both\""));
  EXPECT_THAT(service("select = 'all'"), HasSubstr("must be \"lids\", \"gids\" or \"others\""));
  EXPECT_THAT(service("select = 'gids'"), HasSubstr("needs gids"));
  EXPECT_THAT(service("gids = 'fe80::1'"), HasSubstr("are for select"));
  EXPECT_THAT(service("color = 1"), HasSubstr("there is no such key"));
}

TEST(LabService, SaysWhichRuleIsWrongAndWhere) {
  const auto rule = [](const std::string& text) {
    return error_of("[service.firewall]\nat = 'fw1'\n[[policy]]\n" + text);
  };
  EXPECT_EQ(rule("answer = 'direct'"), "");
  EXPECT_THAT(rule("from = 'a'"), ::testing::AllOf(HasSubstr("lab.toml:10: policy"),
                                                   HasSubstr("needs through = \"SERVICE\"")));
  EXPECT_THAT(rule("answer = 'none'\nthrough = 'firewall'"), HasSubstr("can have one of them"));
  EXPECT_THAT(rule("answer = 'yes'"), HasSubstr("must be \"direct\" or \"none\""));
  EXPECT_THAT(rule("through = 'fire'"), HasSubstr("there is no service fire; there are firewall"));
  EXPECT_THAT(rule("through = ['firewall', 'firewall']"), HasSubstr("firewall is named twice"));
  EXPECT_THAT(rule("answer = 'none'\nfrom = 'c'"), HasSubstr("policy.from: there is no node c"));
  EXPECT_THAT(rule("answer = 'none'\nto = 'a:2'"), HasSubstr("a has ports 1 to 1"));
  EXPECT_THAT(rule("answer = 'none'\nto = 7"), HasSubstr("must be a node, a port"));
  EXPECT_THAT(rule("answer = 'none'\nrequester = 0"), HasSubstr("or a LID"));
  EXPECT_THAT(rule("answer = 'none'\npkey = 0x8000"), HasSubstr("must be a P_Key"));
  EXPECT_THAT(rule("answer = 'none'\nservice_id = '5-4'"), HasSubstr("must be a service ID"));
  EXPECT_THAT(rule("answer = 'none'\nsl = 16"), HasSubstr("0 to 15"));
  EXPECT_THAT(rule("answer = 'none'\nname = 'x'\n[[policy]]\nname = 'x'\nanswer = 'none'"),
              HasSubstr("lab.toml:13: policy: there are two rules x"));
  EXPECT_THAT(error_of("[[policy]]\nthrough = 'firewall'"), HasSubstr("[service.firewall] at"));
  EXPECT_THAT(parse_lab("sm = 'none'\n[node.a]\n[[policy]]\nanswer = 'none'", "l").error().message,
              HasSubstr("sm is \"none\""));
  EXPECT_THAT(parse_lab("[node.a]\n[policy]\nanswer = 'none'", "l").error().message,
              HasSubstr("[[policy]]"));
}

}  // namespace
}  // namespace weft::fabric
