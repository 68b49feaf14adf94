// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/random.h"
#include "lab_text.h"
#include "text_file.h"

namespace weft::fabric {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kLabFilePair = R"(name = "pair"

[switch.leaf]
ports = 8

[node.a]
[node.b]
ports = 2

[[link]]
ends = ["a", "leaf"]

[[link]]
name = "second"
ends = ["b:2", "leaf:1"]
speed = "ddr"
)";

TEST(LabFile, GivesNodesTheirPortsAndLinksTheirEnds) {
  const Lab lab = parsed(kLabFilePair);
  EXPECT_EQ(lab.name, "pair");
  ASSERT_EQ(lab.nodes.size(), 3u);
  EXPECT_EQ(lab.nodes[0].name, "leaf");
  EXPECT_EQ(lab.nodes[0].kind, NodeKind::kSwitch);
  EXPECT_EQ(lab.nodes[0].ports, 8);
  EXPECT_EQ(lab.nodes[2].ports, 2);
  ASSERT_EQ(lab.links.size(), 2u);
  EXPECT_EQ(lab.end_name(lab.links[1].ends[0]), "b:2");
  EXPECT_EQ(lab.links[1].speed, LinkSpeed::kDdr);
  EXPECT_TRUE(lab.links[1].up);
}

TEST(LabFile, TakesTheFirstFreePortWhereNoneIsNamed) {
  const Lab lab = parsed(kLabFilePair);
  EXPECT_EQ(lab.end_name(lab.links[0].ends[0]), "a:1");
  EXPECT_EQ(lab.end_name(lab.links[0].ends[1]), "leaf:2") << "port 1 is named by a later link";
}

TEST(LabFile, FindsALinkByNameAndByItsEnds) {
  const Lab lab = parsed(kLabFilePair);
  EXPECT_EQ(lab.find_link("second"), &lab.links[1]);
  EXPECT_EQ(lab.find_link("leaf:2"), &lab.links[0]);
  EXPECT_EQ(lab.find_link("leaf:3"), nullptr);
  EXPECT_EQ(lab.link_name(lab.links[0]), "a:1");
}

TEST(LabFile, GivesEveryNodeAndPortAGuidOfItsOwnThatNamesDecide) {
  const Lab lab = parsed(kLabFilePair);
  const Lab with_more = parsed(std::string("node.aa = {}\n") + kLabFilePair);
  EXPECT_EQ(lab.nodes[1].guid, with_more.find_node("a")->guid);
  EXPECT_NE(lab.nodes[1].guid, lab.nodes[2].guid);
  EXPECT_EQ(lab.nodes[0].port_guids, std::vector<Guid>{lab.nodes[0].guid});
  ASSERT_EQ(lab.nodes[2].port_guids.size(), 2u);
  EXPECT_EQ(lab.nodes[2].port_guids[1].value(), lab.nodes[2].guid.value() + 2);
  EXPECT_EQ(lab.nodes[2].guid.value() >> 56, 2u) << "locally administered";
}

TEST(LabFile, GivesThePortsOfNodesAddressesInTheirOrder) {
  const Lab lab = parsed("[node.a]\n[switch.s]\n[node.b]\nports = 3\nip = '10.254.0.1'\n[node.c]");
  EXPECT_TRUE(lab.find_node("s")->addresses.empty());
  const auto all_of = [&](std::string_view node) {
    std::string out;
    for (const Ipv4 address : lab.find_node(node)->addresses)
      out += to_string(address) + ' ';
    return out;
  };
  EXPECT_EQ(all_of("a"), "10.254.0.2 ");
  EXPECT_EQ(all_of("b"), "10.254.0.1 10.254.0.3 10.254.0.4 ");
  EXPECT_EQ(all_of("c"), "10.254.0.5 ");
}

TEST(LabFile, HasRoutersBehindTheNodesWithGuidsAndNoAddresses) {
  const Lab lab =
      parsed("[router.r]\nports = 2\n[node.a]\n[switch.s]\n[[link]]\nends = ['r', 's']");
  ASSERT_EQ(lab.nodes.size(), 3u);
  const LabNode& router = lab.nodes[2];
  EXPECT_EQ(router.name, "r");
  EXPECT_EQ(router.kind, NodeKind::kRouter);
  ASSERT_EQ(router.port_guids.size(), 2u);
  EXPECT_EQ(router.port_guids[1].value(), router.guid.value() + 2);
  EXPECT_TRUE(router.addresses.empty());
  EXPECT_EQ(lab.end_name(lab.links[0].ends[0]), "r:1");
  EXPECT_EQ(parsed(write_lab(lab, "")), lab);
}

TEST(LabFile, DrawsAddressesFromTheNetworkOfTheLab) {
  const Lab lab = parsed("network = '192.168.7.0/30'\n[node.a]\n[node.b]");
  EXPECT_EQ(to_string(lab.nodes[0].addresses[0]), "192.168.7.1");
  EXPECT_EQ(to_string(lab.nodes[1].addresses[0]), "192.168.7.2");
}

TEST(LabFile, IsWrittenWithAddressesWhereTheyAreNotTheUsualOnes) {
  const std::string usual = write_lab(parsed("[node.a]\nip = '10.254.0.1'\n[node.b]"), "");
  EXPECT_EQ(usual.find("ip = "), std::string::npos);
  const Lab lab = parsed("network = '10.0.0.0/8'\n[node.a]\n[node.b]\nports = 2\nip = '10.9.0.1'");
  EXPECT_EQ(parsed(write_lab(lab, "")), lab);
}

TEST(LabFile, HasHostsThatAreElsewhereWhoseAddressesNoPortGets) {
  const Lab lab = parsed(
      "[node.a]\n[node.b]\n[hosts]\n'10.254.0.1' = 'fd00:0:0:2::7'\n'192.0.2.1' = 'fe80::7'");
  ASSERT_EQ(lab.hosts.size(), 2u);
  EXPECT_EQ(to_string(lab.hosts[0].address), "10.254.0.1");
  EXPECT_EQ(lab.hosts[0].gid.to_string(), "fd00:0:0:2::7");
  EXPECT_EQ(to_string(lab.nodes[0].addresses[0]), "10.254.0.2");
  EXPECT_EQ(parsed(write_lab(lab, "")), lab);
}

TEST(LabFile, PutsNodesIntoThePartsThatTheyNameAndOthersIntoTheFirst) {
  const Lab lab = parsed(
      "[node]\na = {}\nb = { part = 'right' }\n[switch]\ns = { part = 'right' }\n"
      "[part]\nleft = { address = '192.0.2.1:18515' }\n"
      "right = { address = '[2001:db8::1]:1' }\n[[link]]\nends = ['a', 's']\n"
      "[[link]]\nends = ['b', 's']");
  EXPECT_EQ(lab.find_part("right"), 1);
  EXPECT_EQ(lab.find_part("middle"), std::nullopt);
  EXPECT_EQ(lab.find_node("a")->part, 0);
  EXPECT_EQ(lab.find_node("b")->part, 1);
  EXPECT_TRUE(lab.is_cut(lab.links[0]));
  EXPECT_FALSE(lab.is_cut(lab.links[1]));
  EXPECT_EQ(to_string(*lab.parts[0].address), "192.0.2.1:18515");
  EXPECT_EQ(to_string(*lab.parts[1].address), "[2001:db8::1]:1");
  EXPECT_EQ(parsed(write_lab(lab, "")), lab);
}

TEST(LabParts, TakeAnAddressThatOneMachineHas) {
  for (const char* wrong :
       {"", ":1", "192.0.2.1", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:+1", "192.0.2.1:1 ",
        "0.0.0.0:1", "224.0.0.1:1", "[::]:1", "[ff02::1]:1", "[fe80::1]:1", "2001:db8::1:1",
        "[192.0.2.1]:1", "[2001:db8::1:1", "host:1"}) {
    EXPECT_FALSE(parse_part_address(wrong)) << wrong;
  }
  EXPECT_TRUE(parse_part_address("127.0.0.1:65535"));
  EXPECT_TRUE(parse_part_address("[::1]:1"));
}

TEST(LabParts, AreJoinedByRingsOnOneMachineAndByDatagramsOtherwise) {
  const auto part = [](const char* address) {
    return LabPart{.name = "p", .address = parse_part_address(address)};
  };
  EXPECT_EQ(carrier_between(part(""), part("")), PartCarrier::kRings);
  EXPECT_EQ(carrier_between(part("192.0.2.1:1"), part("192.0.2.1:2")), PartCarrier::kRings);
  EXPECT_EQ(carrier_between(part("192.0.2.1:1"), part("192.0.2.2:1")), PartCarrier::kDatagrams);
  EXPECT_EQ(carrier_between(part("192.0.2.1:1"), part("")), std::nullopt);
}

TEST(LabFile, AppliesDefaultsWhereverTheyStand) {
  const Lab lab = parsed("[node.a]\n[node.b]\nmtu = 256\n[defaults]\nmtu = 2048\nvls = 4\n");
  EXPECT_EQ(lab.nodes[0].limits.mtu, 2048);
  EXPECT_EQ(lab.nodes[0].limits.data_vls, 4);
  EXPECT_EQ(lab.nodes[1].limits.mtu, 256);
}

TEST(LabFile, IsWrittenSoThatItReadsBackTheSame) {
  const std::string full = std::string(kLabFilePair) + R"(
[[link]]
ends = ["leaf:8", "root.1:254"]
width = "1x"
up = false
rate = "2.5Gb/s"
delay = "1.5ms"
loss = "0.5%"
credit_loss = 0.25
bit_errors = 1e-12
duplicate = 1
reorder = "0.1%"
seed = 7

[switch."root.1"]
ports = 254
description = "a \\ b"
guid = "0x0002c90300a20000"
system_guid = "0x0002c90300a20003"
port_guid = "0x0002c90300a20004"
vendor = 0x2c9
device = 4096
revision = 7
linear_entries = 1024
multicast_entries = 64
enhanced_port0 = true
vls = 1
mtu = 256
width = "12x"
speed = "hdr"

[node.c]
ports = 2
port_guids = ["0x10", "0x20"]
)";
  const Lab lab = parsed(full);
  EXPECT_EQ(lab.find_node("root.1")->description, "a \\ b");
  const link::Emulation& emulation = lab.links[2].emulation;
  EXPECT_EQ(emulation.rate_bytes_per_s, 312'500'000u);
  EXPECT_EQ(emulation.delay, 1500us);
  EXPECT_DOUBLE_EQ(emulation.loss, 0.005);
  EXPECT_DOUBLE_EQ(emulation.credit_loss, 0.25);
  EXPECT_DOUBLE_EQ(emulation.bit_errors, 1e-12);
  EXPECT_DOUBLE_EQ(emulation.duplicate, 1);
  EXPECT_EQ(emulation.seed, 7u);
  EXPECT_EQ(parsed(write_lab(lab, "made for a test\nof two lines")), lab);
  EXPECT_THAT(write_lab(lab, "made\nhere"), StartsWith("# made\n# here\nname = \"pair\"\n"));
}

struct Refused {
  const char* text;
  const char* message;
};

class LabFileRefuses : public ::testing::TestWithParam<Refused> {};

TEST(LabFile, SaysWhoManagesTheSubnet) {
  EXPECT_EQ(parsed("[node.a]").management, LabManagement{});
  EXPECT_EQ(parsed("sm = 'none'\n[node.a]").management.manager, LabManagement::Manager::kNone);
  const Lab lab = parsed(
      "sm = { manager = 'opensm', node = 'a', engine = 'dor', lmc = 2, priority = 3, "
      "partitions = 'p.conf', qos = 'q.conf', prefix_routes = 'r.conf', database = 's.db', "
      "mkeys = 'k', mkey_protect = 0 }\n"
      "[node.a]");
  EXPECT_EQ(lab.management, (LabManagement{.manager = LabManagement::Manager::kOpenSm,
                                           .node = "a",
                                           .engine = "dor",
                                           .lmc = 2,
                                           .priority = 3,
                                           .partitions = "p.conf",
                                           .qos = "q.conf",
                                           .prefix_routes = "r.conf",
                                           .database = "s.db",
                                           .mkeys = "k",
                                           .mkey_protect = 0}));
  EXPECT_EQ(parsed(write_lab(lab, "")), lab);
}

TEST_P(LabFileRefuses, WithFileLineAndKey) {
  EXPECT_EQ(refusal(GetParam().text), std::string("lab.toml") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Each, LabFileRefuses,
    ::testing::Values(
        Refused{"", ": there is no node in it"},
        Refused{"\nnodes = {}",
                ":2: nodes: there is no such key; there are name, network, sm, access, defaults, "
                "lan, part, switch, extender, node, router, hosts, link, service, policy, "
                "policies"},
        Refused{"[node.a]\nguid = 'x'",
                ":2: node.a.guid: must be a GUID other than 0, as in "
                "\"0x0002c90300001dd0\""},
        Refused{"[node.a]\nprots = 2",
                ":2: node.a.prots: there is no such key; there are ports, "
                "description, guid, system_guid, vendor, device, revision, "
                "part, vls, mtu, width, speed, port_guids, ip, lan"},
        Refused{"[node.a]\nports = 0", ":2: node.a.ports: must be a number from 1 to 254"},
        Refused{"[node.a]\nports = 255", ":2: node.a.ports: must be a number from 1 to 254"},
        Refused{"[node.a]\nports = '2'", ":2: node.a.ports: must be a number from 1 to 254"},
        Refused{"[node.a]\nmtu = 1500",
                ":2: node.a.mtu: must be one of 256, 512, 1024, 2048, 4096"},
        Refused{"[switch.s]\nvls = 3", ":2: switch.s.vls: must be one of 1, 2, 4, 8, 15"},
        Refused{"[switch.s]\nwidth = '3x'", ":2: switch.s.width: must be 1x, 2x, 4x, 8x or 12x"},
        Refused{"[defaults]\nspeed = 'xdr'",
                ":2: defaults.speed: must be sdr, ddr, qdr, fdr, edr or "
                "hdr"},
        Refused{"[switch.s]\nenhanced_port0 = 1",
                ":2: switch.s.enhanced_port0: must be true or "
                "false"},
        Refused{"node = 3", ":1: node: must be a table"},
        Refused{"[node]\na = 3", ":2: node.a: must be a table"},
        Refused{"[node.'a b']", ":1: node.a b: a name has 1 to 63 letters, digits and ._-"},
        Refused{"[node.a]\n[switch.a]", ":2: switch.a: the name a is taken by the node of line 1"},
        Refused{"[node.a]\ndescription = \"a\\nb\"",
                ":1: node.a: a description has at most 64 ASCII characters, "
                "none of them a quotation mark or a control "
                "character"},
        Refused{"[node.a]\nport_guids = ['1', '2']", ":1: node.a: 2 port GUIDs for 1"},
        Refused{"[node.a]\nports = 2\nport_guids = ['7', '7']",
                ":1: node.a: two ports with GUID 0x0000000000000007"},
        Refused{"[node.a]\nguid = '7'\n[node.b]\nguid = '7'",
                ":3: node.b: GUID 0x0000000000000007 is a's too"},
        Refused{"[node.a]\n[hosts]\nb = 'fd00::2:1'",
                ":3: hosts.b: hosts are called by IPv4 addresses, as in \"10.254.128.1\""},
        Refused{"[node.a]\n[hosts]\n'224.0.0.1' = 'fd00::2:1'",
                ":3: hosts.224.0.0.1: hosts are called by IPv4 addresses, as in "
                "\"10.254.128.1\""},
        Refused{"[node.a]\n[hosts]\n'10.0.0.1' = 'ff12::1'",
                ":3: hosts.10.0.0.1: must be the GID of a port, as ibaddr prints it there"},
        Refused{"[node.a]\n[hosts]\n'10.0.0.1' = 'fd00:0:0:2::'",
                ":3: hosts.10.0.0.1: must be the GID of a port, as ibaddr prints it there"},
        Refused{"[node.a]\nip = '10.254.0.9'\n[hosts]\n'10.254.0.9' = 'fd00::2:1'",
                ":4: hosts.10.254.0.9: is the address of a:1 of this lab"},
        Refused{"sm = 'osm'\n[node.a]", ":1: sm: must be weft, opensm or none"},
        Refused{"sm = { engine = 'lash' }\n[node.a]",
                ":1: sm.engine: must be one of minhop, updn, ftree, dor, layered"},
        Refused{"sm = { node = 'b' }\n[node.a]", ":1: sm: there is no node b"},
        Refused{"sm = { manager = 'opensm', node = 's' }\n[node.a]\n[switch.s]",
                ":1: sm: s is a switch; OpenSM runs on a node"},
        Refused{"sm = { manager = 'opensm', node = 'r' }\n[node.a]\n[router.r]",
                ":1: sm: r is a router; OpenSM runs on a node"},
        Refused{"sm = { lmc = 8 }\n[node.a]", ":1: sm.lmc: must be a number from 0 to 7"},
        Refused{"sm = { mkeys = '' }\n[node.a]", ":1: sm.mkeys: must be a string, not empty"},
        Refused{"sm = { mkeys = 'k', mkey_protect = 4 }\n[node.a]",
                ":1: sm.mkey_protect: must be a number from 0 to 3"},
        Refused{"\nsm = { mkey_protect = 1 }\n[node.a]",
                ":2: sm.mkey_protect: is for ports that have keys: say where they are kept, as in "
                "mkeys = \"keys\""},
        Refused{"sm = 3\n[node.a]", ":1: sm: must be weft, opensm or none, or a table"},
        Refused{"network = '10.0.0.0'\n[node.a]",
                ":1: network: must be an IPv4 network, as in \"10.254.0.0/16\""},
        Refused{"network = '10.0.1.0/16'\n[node.a]",
                ":1: network: must be an IPv4 network, as in \"10.254.0.0/16\""},
        Refused{"network = '224.0.0.0/8'\n[node.a]",
                ":1: network: must be an IPv4 network, as in \"10.254.0.0/16\""},
        Refused{"network = '10.0.0.0/30'\n[node.a]\n[node.b]\n[node.c]",
                ":1: network: 10.0.0.0/30 has addresses for 2 ports, and there are more"},
        Refused{"[node.a]\nip = '10.254.1.256'",
                ":2: node.a.ip: must be an IPv4 address, as in \"10.254.0.1\""},
        Refused{"[node.a]\nip = 7", ":2: node.a.ip: must be an IPv4 address, as in \"10.254.0.1\""},
        Refused{"[node.a]\nip = '10.0.0.1'",
                ":1: node.a.ip: 10.0.0.1 is no host's address in network 10.254.0.0/16"},
        Refused{"[node.a]\nip = '10.254.255.255'",
                ":1: node.a.ip: 10.254.255.255 is no host's address in network 10.254.0.0/16"},
        Refused{"[node.a]\nip = ['10.254.0.1', '10.254.0.2']", ":1: node.a: 2 addresses for 1"},
        Refused{"[node.a]\nip = '10.254.0.9'\n[node.b]\nip = '10.254.0.9'",
                ":3: node.b.ip: 10.254.0.9 is the address of a:1 too"},
        Refused{"[switch.a]\nip = '10.254.0.9'",
                ":2: switch.a.ip: there is no such key; there are ports, description, guid, "
                "system_guid, vendor, device, revision, part, vls, mtu, width, speed, "
                "port_guid, linear_entries, multicast_entries, enhanced_port0"},
        Refused{"[router.r]\nip = '10.254.0.9'",
                ":2: router.r.ip: there is no such key; there are ports, description, guid, "
                "system_guid, vendor, device, revision, part, vls, mtu, width, speed, port_guids"},
        Refused{"[router.a]\n[switch.a]",
                ":2: switch.a: the name a is taken by the router of line 1"},
        Refused{"[node.a]\npart = 'p'",
                ":2: node.a.part: there is no part p; a part is begun with [part.p]"},
        Refused{"[part.p]\n[part.q]\n[node.a]\npart = 'r'",
                ":4: node.a.part: there is no part r; there are p, q"},
        Refused{"[part.p]\n[part.q]\n[node.a]",
                ":2: part.q: no switch or node is in part q: they say so with part = \"q\""},
        Refused{"[part.p]\nhost = 'x'\n[node.a]",
                ":2: part.p.host: there is no such key; there are address"},
        Refused{"[part.'.p']\n[node.a]",
                ":1: part..p: the name of a part has 1 to 63 letters, digits and ._-, the first no "
                "'.'"},
        Refused{"[part.p]\naddress = '192.0.2.1'\n[node.a]",
                ":2: part.p.address: must be an IP address of the machine and a UDP port, as in "
                "\"192.0.2.1:18515\" or \"[2001:db8::1]:18515\""},
        Refused{
            "[part]\np = { address = '192.0.2.1:7' }\nq = { address = '192.0.2.1:7' }\n[node.a]",
            ":3: part.q.address: 192.0.2.1:7 is the address of part p of line 2 too"},
        Refused{"[part]\np = { address = '192.0.2.1:7' }\nq = {}\n[node]\na = {}\n"
                "b = { part = 'q' }\n[[link]]\nends = ['a', 'b']",
                ":7: link: it joins parts p and q, and q has no address: give it one, or neither "
                "where both run on one machine"},
        Refused{"link = 3\n[node.a]", ":1: link: links are written [[link]], one after the other"},
        Refused{"[node.a]\n[[link]]\n",
                ":2: link: a link needs its ends, as in ends = "
                "[\"host1:1\", \"leaf1:3\"]"},
        Refused{"[node.a]\n[[link]]\nends = ['a']",
                ":3: link.ends: must be the two ports, as in [\"host1:1\", \"leaf1:3\"]"},
        Refused{"[node.a]\n[[link]]\nends = ['a', 'b:1']",
                ":2: link: b: there is no such switch, node or router"},
        Refused{"[node.a]\n[node.b]\n[[link]]\nends = ['a:2', 'b:1']",
                ":3: link: a:2: a has ports 1 to 1"},
        Refused{"[node.a]\n[node.b]\n[[link]]\nends = ['a:x', 'b:1']",
                ":4: link.ends: a:x: a port is a number, as in leaf1:3"},
        Refused{"[node.a]\n[node.b]\n[[link]]\nends = ['a', 'b']\n[[link]]\nends = ['a:1', 'b:1']",
                ":3: link: a: all its 1 ports are taken"},
        Refused{"[switch.a]\n[switch.b]\n[[link]]\nends = ['a:4', 'b:4']\n"
                "[[link]]\nends = ['b:5', 'a:4']",
                ":5: link: port a:4 is taken by the link of line 3"},
        Refused{"[switch.a]\n[[link]]\nends = ['a:4', 'a:4']",
                ":2: link: port a:4 is taken by the link of line 2"},
        Refused{"[switch.a]\n[[link]]\nname = 'x'\nends = ['a', 'a']\n[[link]]\nname = 'x'\n"
                "ends = ['a', 'a']",
                ":5: link: the name x is taken by the link of line 2"},
        Refused{"[[link]]\nloss = 1.5",
                ":2: link.loss: must be a probability from 0 to 1, or as in 0.1%"},
        Refused{"[[link]]\nloss = 'nan%'",
                ":2: link.loss: must be a probability from 0 to 1, or as in 0.1%"},
        Refused{"[[link]]\nloss = true", ":2: link.loss: must be a string, not empty"},
        Refused{"[[link]]\ndelay = '2'",
                ":2: link.delay: must be a time in ns, us, ms or s, as in 2ms"},
        Refused{"[[link]]\ndelay = '-2ms'",
                ":2: link.delay: must be a time in ns, us, ms or s, as in 2ms"},
        Refused{"[[link]]\nrate = 10",
                ":2: link.rate: must be a rate in Gb/s, Mb/s or kb/s, as in 2.5Gb/s, not 0"},
        Refused{"[[link]]\nrate = '0Gb/s'",
                ":2: link.rate: must be a rate in Gb/s, Mb/s or kb/s, as in 2.5Gb/s, not 0"},
        Refused{"[[link]]\nseed = -1",
                ":2: link.seed: must be a number from 0 to 9223372036854775807"},
        Refused{"name = 'a/b'\n[node.a]", ": name: a name has 1 to 63 letters, digits and ._-"}));

TEST(LabFile, NamesTheLineWhereItIsNoToml) {
  EXPECT_THAT(refusal("[node.a]\nports = \n"), StartsWith("lab.toml:2: "));
  EXPECT_THAT(refusal("[node.a]\n[node.a]\n"), StartsWith("lab.toml:2: "));
  EXPECT_THAT(refusal("[node.a]\nports = i\n"), EndsWith("saw 'i?'")) << "one line";
}

// What fuzz/lab_file has found under UBSan: toml++ took such letters for unreachable.
TEST(LabFile, NamesTheLineOfALetterThatIsNone) {
  EXPECT_THAT(refusal("[node.a]\n4\u027f"), StartsWith("lab.toml:2: "));
  EXPECT_THAT(refusal("[node.a]\n\nports = 4\u4e00"), StartsWith("lab.toml:3: "));
  EXPECT_THAT(refusal("[node.\ufefe]"), StartsWith("lab.toml:1: "));
}

TEST(LabFile, RefusesMoreThanASubnetHasLids) {
  std::string text = "[node]\n";
  for (int i = 0; i < 194; ++i)
    text += "n" + std::to_string(i) + " = { ports = 254 }\n";
  EXPECT_EQ(refusal(text), "lab.toml: 49276 switches and adapter ports: a subnet has 49151 LIDs");
}

// Whatever stands in a file, the answer is a lab or one line that begins with the file's name.
TEST(LabFile, AnswersEveryFuzzedVariantWithALabOrOneLine) {
  const std::string good = write_lab(parsed(kLabFilePair)) + kLabFilePair;
  const std::string other = kLabFilePair;
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    std::string text = seed % 2 == 0 ? good : other;
    for (std::uint64_t change = random.between(1, 4); change > 0; --change) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, random.between(1, 8));
          break;
        case 2:
          text.insert(at, text.substr(random.below(text.size()), random.between(1, 40)));
          break;
        default:
          text.insert(at, std::to_string(random.next()));
      }
    }
    const auto lab = parse_lab(text, "lab.toml");
    if (lab) {
      EXPECT_EQ(parsed(write_lab(*lab)), *lab) << "seed " << seed;
      continue;
    }
    ++refused;
    EXPECT_THAT(lab.error().message, StartsWith("lab.toml:")) << "seed " << seed;
    EXPECT_EQ(std::count(lab.error().message.begin(), lab.error().message.end(), '\n'), 0)
        << "seed " << seed;
  }
  EXPECT_GE(refused, 200u);
}

TEST(LabFile, ReadsEveryLabOfTheExamples) {
  std::size_t labs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_EXAMPLES "/labs")) {
    if (entry.path().extension() != ".toml") continue;
    const auto lab = parse_lab(read_text(entry.path()), entry.path());
    EXPECT_TRUE(lab) << lab.error().message;
    ++labs;
  }
  EXPECT_GE(labs, 3u);
}

}  // namespace
}  // namespace weft::fabric
