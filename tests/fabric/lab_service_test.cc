// SPDX-License-Identifier: Apache-2.0
// What a lab file says of data services and of rules.
#include "fabric/lab_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/gid_text.h"
#include "fabric/lab_file.h"
#include "fabric/lab_pairs.h"
#include "lab_text.h"

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kLabServiceNodes =
    "[switch.s]\n[router.r]\n[node]\na = {}\nb = {}\nfw1 = { ports = 2 }\nfw2 = {}\n";  // 7 lines

std::string error_of(const std::string& text) {
  const auto lab = parse_lab(kLabServiceNodes + text, "lab.toml");
  return lab ? "" : lab.error().message;
}

TEST(LabService, IsTwoLines) {
  const Lab lab = parsed(std::string(kLabServiceNodes) + "[service.firewall]\nat = 'fw1'");
  ASSERT_THAT(lab.data.services, SizeIs(1));
  const LabService& service = lab.data.services[0];
  EXPECT_EQ(service.name, "firewall");
  EXPECT_EQ(service.type, "firewall");
  EXPECT_EQ(service.instances, (std::vector<LabServiceInstance>{{{.at = {"fw1", 1}, .lids = {}}}}));
  EXPECT_FALSE(service.both_work || service.by_load || service.bypass);
  EXPECT_EQ(service.select, LabService::Select::kLids);
}

TEST(LabService, HasInstancesAndPairs) {
  const Lab lab = parsed(std::string(kLabServiceNodes) +
                         "[service.x]\ntype = 'capture'\nat = ['fw1:2', ['fw1', 'fw2']]\n"
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
  const Lab lab = parsed(std::string(kLabServiceNodes) + R"(
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
answer_sl = 5
symmetric = true
[[policy]]
service_id = 0x1234
answer = "none"
[[policy]]
answer = "direct"
[[policy]]
answer = "direct"
answer_sl = 0
[service.firewall]
at = "fw1"
[service.monitor]
at = "fw2"
)");
  ASSERT_THAT(lab.data.policies, SizeIs(4));
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
  EXPECT_EQ(web.answer_sl, Sl{5});
  EXPECT_THAT(web.through, ElementsAre("firewall", "monitor"));
  EXPECT_TRUE(web.symmetric);
  EXPECT_TRUE(lab.data.policies[1].refused);
  EXPECT_EQ(lab.data.policies[1].service_ids,
            std::pair(std::uint64_t{0x1234}, std::uint64_t{0x1234}));
  EXPECT_FALSE(lab.data.policies[2].refused);
  EXPECT_TRUE(lab.data.policies[2].from.is_any());
  EXPECT_EQ(lab.data.policies[2].answer_sl, std::nullopt);
  EXPECT_EQ(lab.data.policies[3].answer_sl, Sl{0});
  // As it is read, it is written.
  EXPECT_EQ(parsed(write_lab(lab)), lab);
}

TEST(LabService, IsWrittenAsItIsRead) {
  for (const char* const text :
       {"[service.firewall]\nat = [['fw1', 'fw2']]\nlids = [70, 71]\npair = 'both'",
        "[service.'x.y']\ntype = 'process'\nat = ['fw1:2', ['fw1', 'fw2']]\nbalance = 'load'",
        "[service.monitor]\nat = 'fw1:2'\nlids = [15, 255]\nselect = 'others'\nif_down = 'bypass'",
        "[service.router]\nat = ['fw1:1', 'fw1:2']\nselect = 'gids'\ngids = 'fd00::/64'",
        "[service.monitor]\nat = 'fw1'\nflows = 16\nsenders = 8\nselect = 'copies'",
        "[service.capture]\nat = 'fw1'\nfile = 'x.pcapng'\nfiles = 3\nsize = '1.5MiB'\n"
        "time = '90s'\nhide_queue_pairs = true\npkeys = [['0x0001', '0x8001'], [2, 0x8002]]",
        "[service.limiter]\nat = 'fw1'\nrate = '1Gb/s'\nburst = '1MiB'\nmirror_to = 'capture'\n"
        "rates = { 0x8001 = '10Mb/s', 0x0002 = '0kb/s' }\n[service.capture]\nat = 'fw2'",
        "[service.firewall]\nat = 'fw1'\nrules = 'x.rules'\ndry_run = true",
        "[service.limiter]\nat = 'fw1'\nby = 'source'\n"
        "rates = { a = '10Mb/s', 'fe80::1' = '1.5Gb/s' }",
        "[service.limiter]\nat = 'fw1'\nby = 'pair'\nrate = '1Gb/s'",
        "[service.limiter]\nat = 'fw1'\nby = 'pair'\n"
        "rates = { 'a to b' = '10Mb/s', 'fe80::1 to a' = '1Gb/s', 'b to fe80::1' = '0kb/s' }"}) {
    const Lab lab = parsed(std::string(kLabServiceNodes) + text);
    EXPECT_EQ(parsed(write_lab(lab)), lab) << write_lab(lab);
  }
}

TEST(LabService, HasKeysOfItsType) {
  const Lab lab = parsed(std::string(kLabServiceNodes) + R"(
[service.capture]
at = "fw1"
files = 2
size = "1MiB"
pkeys = [["0x0001", "0x8001"]]
hide_queue_pairs = true
[service.limiter]
at = "fw2"
by = "source"
rates = { a = "8kb/s" }
mirror_to = "capture"
[service.tap]
type = "monitor"
at = "a"
flows = 7
select = "copies"
)");
  const LabService& capture = lab.data.services.at(0);
  EXPECT_EQ(capture.capture, (LabCapture{.files = 2, .size = 1 << 20}));
  EXPECT_TRUE(capture.hide_queue_pairs);
  EXPECT_THAT(capture.pkeys, ElementsAre(std::pair(PKey{0x0001}, PKey{0x8001})));
  const LabService& limiter = lab.data.services.at(1);
  EXPECT_EQ(limiter.limiter,
            (LabLimiter{.by = LabLimiter::By::kSource,
                        .rate = {},
                        .rates = {{.who = LabLimiter::End("a"), .bytes_per_s = 1000}}}));
  EXPECT_EQ(limiter.mirror_to, "capture");
  const LabService& tap = lab.data.services.at(2);
  EXPECT_TRUE(tap.is_tap());
  EXPECT_EQ(tap.monitor, (LabMonitor{.flows = 7}));
}

TEST(LabService, LimitsPairsByTheNamesOfBothEnds) {
  const Lab lab = parsed(std::string(kLabServiceNodes) + R"(
[service.limiter]
at = "fw2"
by = "pair"
rates = { "a to fe80::1" = "8kb/s" }
)");
  const LabLimiter& limiter = lab.data.services.at(0).limiter;
  EXPECT_EQ(limiter.by, LabLimiter::By::kPair);
  ASSERT_THAT(limiter.rates, SizeIs(1));
  EXPECT_EQ(limiter.rates[0].who, (decltype(LabLimiter::Tenant::who)(LabLimiter::Pair{
                                      .from = "a", .to = parse_gid("fe80::1").value()})));
}

TEST(LabService, SaysWhichKeysItsTypeHas) {
  const auto monitor = [](const std::string& text) {
    return error_of("[service.monitor]\nat = 'fw1'\n" + text);
  };
  EXPECT_THAT(monitor("rules = 'x'"),
              ::testing::AllOf(
                  HasSubstr("lab.toml:10: service.monitor.rules: is of type firewall, router, and "
                            "this is of type monitor, which has at, type"),
                  HasSubstr("flows, senders")));
  EXPECT_THAT(monitor("color = 1"), HasSubstr("there is no such key; there are at, type"));
  EXPECT_THAT(error_of("[service.x]\nat = 'fw1'\nflows = 3"), HasSubstr("needs a type"));
  EXPECT_THAT(error_of("[service.x]\nflows = 3\ntype = 'process'\nat = 'fw1'"),
              HasSubstr("lab.toml:9: service.x.flows: is said where the service works, and not "
                        "here: weft service run --set flows=VALUE"));
  EXPECT_THAT(error_of("[service.x]\ntype = 'external'\nat = 'fw1'\nhide_queue_pairs = true"),
              HasSubstr("not here: weft serve --set hide_queue_pairs=VALUE"));
  EXPECT_THAT(error_of("[service.x]\ntype = 'process'\nat = 'fw1'\nmirror_to = 'y'"),
              HasSubstr("mirror_to: is of type firewall, limiter, and this is of type process"));
  EXPECT_THAT(error_of("[service.x]\ntype = 'process'\nat = 'fw1'\ninsecure = true"),
              HasSubstr("insecure: is of type external, and this is of type process"));
  EXPECT_THAT(monitor("flows = 0"), HasSubstr("must be a number from 1"));
  EXPECT_THAT(monitor("pkeys = 1"), HasSubstr("must be pairs of P_Keys"));
  EXPECT_THAT(monitor("pkeys = [['0x0001']]"), HasSubstr("must be two P_Keys"));
  EXPECT_THAT(monitor("pkeys = [['0x8000', 1]]"), HasSubstr("must be two P_Keys"));
  EXPECT_THAT(monitor("pkeys = [[1, 2], [1, 3]]"), HasSubstr("0x0001 is replaced already"));
  EXPECT_THAT(monitor("hide_queue_pairs = 1"), HasSubstr("must be true or false"));

  EXPECT_TRUE(parsed(std::string(kLabServiceNodes) + "[service.firewall]\nat = 'fw1'\n"
                                                     "dry_run = true")
                  .data.services.at(0)
                  .dry_run);
  EXPECT_THAT(error_of("[service.firewall]\nat = 'fw1'\ndry_run = 1"),
              HasSubstr("must be true or false"));
  EXPECT_THAT(monitor("dry_run = true"), HasSubstr("dry_run: is of type firewall"));

  const auto capture = [](const std::string& text) {
    return error_of("[service.capture]\nat = 'fw1'\n" + text);
  };
  EXPECT_EQ(capture(""), "");
  EXPECT_THAT(capture("files = 0"), HasSubstr("must be a number from 1"));
  EXPECT_THAT(capture("size = '0B'"), HasSubstr("must be a size"));
  EXPECT_THAT(capture("size = 5"), HasSubstr("must be a size"));
  EXPECT_THAT(capture("time = '10ms'"), HasSubstr("at least 1s"));
  EXPECT_THAT(capture("mirror_to = 'capture'"), HasSubstr("is of type firewall, limiter"));

  const auto limiter = [](const std::string& text) {
    return error_of("[service.limiter]\nat = 'fw1'\n" + text);
  };
  EXPECT_EQ(limiter("rate = '1Gb/s'"), "");
  EXPECT_THAT(limiter(""), HasSubstr("needs rate = \"1Gb/s\""));
  EXPECT_THAT(limiter("rate = '1GB/s'"), HasSubstr("must be a rate"));
  EXPECT_THAT(limiter("rate = '1Gb/s'\nburst = '4KiB'"), HasSubstr("at least 4224B"));
  EXPECT_THAT(limiter("rate = '1Gb/s'\nby = 'port'"), HasSubstr("must be \"partition\""));
  EXPECT_THAT(limiter("rates = { a = '1Gb/s' }"),
              HasSubstr("a is one end; with by = \"partition\" a tenant is a P_Key"));
  EXPECT_THAT(limiter("rates = { 'a b' = '1Gb/s' }"), HasSubstr("or a pair as in \"a to b\""));
  EXPECT_THAT(limiter("rates = { 'a to ' = '1Gb/s' }"), HasSubstr("or a pair as in \"a to b\""));
  EXPECT_THAT(limiter("by = 'source'\nrates = { 'a to b' = '1Gb/s' }"),
              HasSubstr("a to b is a pair; with by = \"source\""));
  EXPECT_THAT(limiter("by = 'pair'\nrates = { a = '1Gb/s' }"),
              HasSubstr("a tenant is one end and the other, as in \"a to b\""));
  EXPECT_THAT(limiter("by = 'pair'\nrates = { 'a to c' = '1Gb/s' }"),
              HasSubstr("service.limiter.rates: there is no node c"));
  EXPECT_THAT(limiter("by = 'source'\nrates = { 5 = '1Gb/s' }"),
              HasSubstr("0x0005 is a partition"));
  EXPECT_THAT(limiter("by = 'source'\nrates = { c = '1Gb/s' }"),
              HasSubstr("service.limiter.rates: there is no node c"));
}

TEST(LabService, SaysWhatATapAndAMirrorCannotBe) {
  const auto tap = [](const std::string& text) {
    return error_of("[service.monitor]\nat = 'fw1'\nselect = 'copies'\n" + text);
  };
  EXPECT_EQ(tap(""), "");
  EXPECT_THAT(tap("hide_queue_pairs = true"), HasSubstr("forwards nothing"));
  EXPECT_THAT(tap("if_down = 'bypass'"), HasSubstr("mean nothing"));
  EXPECT_THAT(tap("lids = 5"), HasSubstr("no service LIDs"));
  EXPECT_THAT(tap("[[policy]]\nthrough = 'monitor'"),
              HasSubstr("policy.through: monitor has select = \"copies\""));
  const auto mirror = [](const std::string& text) {
    return error_of("[service.firewall]\nat = 'fw1'\nmirror_to = 'x'\n[service.x]\nat = 'fw2'\n" +
                    text);
  };
  EXPECT_EQ(mirror("type = 'capture'"), "");
  EXPECT_THAT(mirror("type = 'process'"), HasSubstr("service.firewall.mirror_to: x is a process"));
  EXPECT_THAT(mirror("type = 'external'\nserver = '192.0.2.9:7471'\ninsecure = true"),
              HasSubstr("service.firewall.mirror_to: x works on a server"));
  EXPECT_THAT(mirror("type = 'limiter'\nrate = '1Gb/s'\nmirror_to = 'firewall'"),
              HasSubstr("x has mirror_to itself"));
  EXPECT_THAT(error_of("[service.firewall]\nat = 'fw1'\nmirror_to = 'y'"),
              HasSubstr("there is no service y"));
}

TEST(LabService, SaysThatAProcessHasFiltersOfItsOwn) {
  const auto process = [](const std::string& text) {
    return error_of("[service.x]\ntype = 'process'\nat = 'fw1'\n" + text);
  };
  EXPECT_EQ(process("select = 'lids'"), "");
  EXPECT_EQ(process("select = 'copies'"), "");
  EXPECT_THAT(process("select = 'gids'\ngids = 'fe80::1'"),
              HasSubstr("lab.toml:8: service.x: select = \"gids\": a process says itself"));
  EXPECT_THAT(process("select = 'others'"), HasSubstr("select = \"others\": a process says"));
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
  EXPECT_THAT(service("select = 'all'"), HasSubstr("must be \"lids\", \"gids\", \"others\" or"));
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
  EXPECT_THAT(rule("answer = 'direct'\nanswer_sl = 16"), HasSubstr("policy.answer_sl: must be"));
  EXPECT_THAT(rule("answer = 'none'\nanswer_sl = 3"), HasSubstr("no path that could have it"));
  EXPECT_THAT(rule("answer_sl = 3"), HasSubstr("needs through = \"SERVICE\""));
  EXPECT_THAT(rule("answer = 'none'\nname = 'x'\n[[policy]]\nname = 'x'\nanswer = 'none'"),
              HasSubstr("lab.toml:13: policy: there are two rules x"));
  EXPECT_THAT(error_of("[[policy]]\nthrough = 'firewall'"), HasSubstr("[service.firewall] at"));
  EXPECT_THAT(parse_lab("sm = 'none'\n[node.a]\n[[policy]]\nanswer = 'none'", "l").error().message,
              HasSubstr("sm is \"none\""));
  EXPECT_THAT(parse_lab("[node.a]\n[policy]\nanswer = 'none'", "l").error().message,
              HasSubstr("[[policy]]"));
}

TEST(LabService, SaysThatAPairOnTwoMachinesSharesNoConnections) {
  const auto notes = [](const std::string& part, const std::string& type = "firewall",
                        const std::string& right = "") {
    return pair_notes(parsed(
        std::string("[part]\nleft = {") + (right.empty() ? "" : "address = '192.0.2.1:7000'") +
        "}\nright = {" + right +
        "}\n[switch]\ns = { part = 'left' }\nt = { part = 'right' }\n"
        "[node]\nfw1 = { part = 'left' }\nfw2 = { part = '" +
        part + "', ports = 2 }\n[service.x]\ntype = '" + type +
        "'\nat = [['fw1', 'fw2:2']]\n[[link]]\n"
        "ends = ['fw1', 's']\n[[link]]\nends = ['fw2:2', 't']\n[[link]]\nends = ['s', 't']"));
  };
  EXPECT_THAT(notes("left"), SizeIs(0));
  EXPECT_THAT(notes("right"), SizeIs(0));
  const auto told = ElementsAre(
      HasSubstr("service x: fw1 is in part left and fw2:2 in part right: neither tells the other "
                "one what is connected"));
  EXPECT_THAT(notes("right", "process"), told);
  EXPECT_THAT(notes("right", "firewall", "address = '192.0.2.2:7000'"), told);
}

TEST(LabService, SaysWhatBothOfAPairGoWith) {
  const auto notes = [](const std::string& at, const std::string& of_fw2) {
    return pair_notes(
        parsed("[switch.s]\n[switch.t]\n[node]\na = {}\nfw1 = { ports = 2 }\n"
               "fw2 = {}\n[service.firewall]\nat = " +
               at +
               "\n[[link]]\nends = ['a', 's']\n[[link]]\nends = ['fw1:1', 's']\n"
               "[[link]]\nends = ['fw1:2', 't']\n[[link]]\nends = ['" +
               of_fw2 + "', 'fw2']\n[[link]]\nends = ['s', 't']"));
  };
  EXPECT_THAT(notes("[['fw1', 'fw2']]", "t"), SizeIs(0));
  EXPECT_THAT(notes("[['fw1:2', 'fw2']]", "s"), SizeIs(0));
  EXPECT_THAT(notes("['fw1', 'fw2']", "s"), SizeIs(0)) << "no pair";
  EXPECT_THAT(notes("[['fw1', 'fw2']]", "s"),
              ElementsAre("service firewall: the pair of fw1 and fw2 shares switch s, and goes "
                          "with it"));
  EXPECT_THAT(notes("[['fw2', 'fw1:2']]", "t"), ElementsAre(HasSubstr("shares switch t")));
  EXPECT_THAT(notes("[['fw1', 'fw1:2']]", "t"),
              ElementsAre(HasSubstr("the pair of fw1 and fw1:2 shares node fw1,")));
}

}  // namespace
}  // namespace weft::fabric
