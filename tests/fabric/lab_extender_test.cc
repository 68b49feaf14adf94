// SPDX-License-Identifier: Apache-2.0
// The extenders of lab files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/lab_census.h"
#include "fabric/lab_file.h"

namespace weft::fabric {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSite = R"(
[extender.edge]
ports = 2
listen = "192.0.2.1:7471"
buffer = "64MiB"
insecure = true
encapsulation = "udp/ipv6/ethernet"
interface = "eth1"
dscp = { 3 = 46, control = 40 }
fec = "10+2"
[extender.edge.remote]
"far.away" = { address = "[2001:db8::1]:7471", rate = "2.5Gb/s" }
near = { encapsulation = "ethernet", fec = "9+8", interface = "tap:lab", dscp = { 15 = 63, 0 = 8 } }

[node.a]
[switch.s]

[[link]]
ends = ["a", "edge"]
[[link]]
ends = ["s", "edge"]
)";

std::string extender_refusal(const std::string& text) {
  const auto lab = parse_lab(text, "lab.toml");
  EXPECT_FALSE(lab) << text;
  return lab ? "" : lab.error().message;
}

std::string extender(const std::string& keys, const std::string& rest = "") {
  return "[extender.x]\n" + keys + "\n" + rest;
}

TEST(LabExtender, IsASwitchWithOneMorePortForEachRemote) {
  const auto lab = parse_lab(kSite, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  ASSERT_EQ(lab->extenders.size(), 1u);
  const LabExtender& edge = lab->extenders[0];
  const LabNode& node = lab->nodes[edge.node];
  EXPECT_EQ(node.name, "edge");
  EXPECT_EQ(node.kind, NodeKind::kSwitch);
  EXPECT_EQ(node.ports, 4);
  EXPECT_EQ(edge.buffer_bytes, std::uint64_t{64} << 20);
  std::string silent = kSite;
  silent.erase(silent.find("buffer = "), std::string("buffer = \"64MiB\"\n").size());
  EXPECT_EQ(parse_lab(silent, "lab.toml").value().extenders[0].buffer_bytes,
            std::uint64_t{512} << 20);
  ASSERT_EQ(edge.remotes.size(), 2u);
  EXPECT_EQ(edge.remotes[0].name, "far.away");
  EXPECT_EQ(to_string(edge.remotes[0].address.value()), "[2001:db8::1]:7471");
  EXPECT_EQ(edge.remotes[0].rate_bytes_per_s, 312'500'000u);
  EXPECT_EQ(edge.remotes[0].encapsulation, "udp/ipv6/ethernet") << "of all, where it says nothing";
  EXPECT_EQ(edge.remotes[0].interface, "eth1");
  EXPECT_EQ(edge.remotes[1].encapsulation, "ethernet");
  EXPECT_EQ(edge.remotes[1].interface, "tap:lab");
  EXPECT_EQ(edge.remotes[1].address, std::nullopt);
  EXPECT_EQ(edge.remotes[1].rate_bytes_per_s, 0u);
  EXPECT_EQ(edge.remotes[0].dscp.value().of_sl[3], 46);
  EXPECT_EQ(edge.remotes[0].dscp->of_sl[15], 0);
  EXPECT_EQ(edge.remotes[0].dscp->control, 40);
  EXPECT_EQ(edge.remotes[1].dscp.value().of_sl[15], 63) << "its own";
  EXPECT_EQ(edge.remotes[1].dscp->of_sl[3], 0);
  EXPECT_EQ(edge.remotes[1].dscp->control, 48);
  EXPECT_EQ(edge.remotes[0].fec, (LabFec{.frames = 10, .repairs = 2}));
  EXPECT_EQ(edge.remotes[1].fec, (LabFec{.frames = 9, .repairs = 8}));
  EXPECT_EQ(edge.port_of(0), 3);
  EXPECT_EQ(edge.port_of(1), 4);
  EXPECT_EQ(lab->find_extender(edge.node), &edge);
  EXPECT_EQ(lab->find_extender(edge.node + 1), nullptr);
}

TEST(LabExtender, ListensAtSeveralAddresses) {
  const std::string rest =
      "insecure = true\n[extender.x.remote.r]\naddress = '192.0.2.9:7471'\n"
      "[node.a]\n[[link]]\nends = ['a', 'x']\n";
  const auto lab =
      parse_lab(extender("listen = ['192.0.2.1:7471', '[2001:db8::1]:7472']", rest), "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const LabExtender& read = lab->extenders[0];
  EXPECT_EQ(to_string(read.listen), "192.0.2.1:7471");
  ASSERT_EQ(read.more_listens.size(), 1u);
  EXPECT_EQ(to_string(read.more_listens[0]), "[2001:db8::1]:7472");
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
  EXPECT_THAT(extender_refusal(extender("listen = []", rest)), HasSubstr("a list of up to 8"));
  EXPECT_THAT(extender_refusal(extender("listen = ['192.0.2.1:7471', '192.0.2.1:7471']", rest)),
              HasSubstr("192.0.2.1:7471 is there twice"));
  EXPECT_THAT(extender_refusal(extender("listen = ['192.0.2.1:7471', '192.0.2.9:7471']", rest)),
              HasSubstr("192.0.2.9:7471 is where the extender itself listens"));
}

TEST(LabExtender, IsWrittenSoThatItReadsBackTheSame) {
  const auto lab = parse_lab(kSite, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
}

TEST(LabExtender, HasSeveralWaysToARemote) {
  const std::string ends = "\n[node.a]\n[[link]]\nends = ['a', 'x']\n";
  const auto lab = parse_lab(
      extender(
          "listen = '192.0.2.1:7471'\nkey = 'k'",
          "[extender.x.remote]\n"
          "r = { address = ['192.0.2.2:1', '192.0.2.3:1'], fingerprint = 'f', rate = 'auto' }\n"
          "s = { paths = 3, fingerprint = 'g' }\n") +
          ends,
      "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const auto& remotes = lab->extenders[0].remotes;
  EXPECT_EQ(to_string(remotes[0].address.value()), "192.0.2.2:1");
  ASSERT_EQ(remotes[0].more_addresses.size(), 1u);
  EXPECT_EQ(to_string(remotes[0].more_addresses[0]), "192.0.2.3:1");
  EXPECT_EQ(remotes[0].paths, 2);
  EXPECT_TRUE(remotes[0].adapts_rate);
  EXPECT_EQ(remotes[1].paths, 3);
  EXPECT_FALSE(remotes[1].adapts_rate);
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
}

TEST(LabExtender, RefusesWaysThatCannotBe) {
  const std::string fine = "listen = '192.0.2.1:7471'\ninsecure = true";
  const auto refused = [&](const std::string& remote) {
    return extender_refusal(extender(fine, "[extender.x.remote]\n" + remote));
  };
  EXPECT_THAT(refused("r = { address = [] }"), HasSubstr("a list of up to 8"));
  EXPECT_THAT(refused("r = { address = ['192.0.2.2:1', 'there'] }"),
              HasSubstr("must be an IP address"));
  EXPECT_THAT(refused("r = { paths = 9 }"), HasSubstr("r.paths: "));
  EXPECT_THAT(refused("r = { address = '192.0.2.2:1', paths = 2 }"),
              HasSubstr("remote r has 2 paths and 1 addresses"));
  EXPECT_THAT(refused("r = { paths = 2 }"), HasSubstr("nobody could tell its paths apart"));
  EXPECT_THAT(refused("r = { address = ['192.0.2.2:1', '192.0.2.2:1'] }"),
              HasSubstr("192.0.2.2:1 is an address of remote r too"));
  EXPECT_THAT(refused("q = { address = '192.0.2.2:1' }\n"
                      "r = { address = ['192.0.2.3:1', '192.0.2.2:1'] }"),
              HasSubstr("192.0.2.2:1 is an address of remote q too"));
  EXPECT_THAT(refused("r = { address = ['192.0.2.2:1', '192.0.2.1:7471'] }"),
              HasSubstr("192.0.2.1:7471 is where the extender itself listens"));
}

TEST(LabExtender, FindsRemotesByTcpWhereItSealsNothing) {
  const std::string ends = "\n[node.a]\n[[link]]\nends = ['a', 'x']\n";
  const std::string there = "[extender.x.remote.r]\naddress = '192.0.2.2:7471'\n";
  const std::string listen = "listen = '192.0.2.1:7471'\n";
  const auto lab =
      parse_lab(extender(listen + "insecure = true\nsetup = 'tcp'", there) + ends, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_TRUE(lab->extenders[0].tcp_setup);
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
  const auto none =
      parse_lab(extender(listen + "insecure = true\nsetup = 'none'", there) + ends, "lab.toml");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(none->extenders[0].tcp_setup);

  EXPECT_THAT(extender_refusal(extender(listen + "insecure = true\nsetup = 'udp'", there)),
              HasSubstr("extender.x.setup: must be tcp or none"));
  EXPECT_THAT(
      extender_refusal(extender(listen + "key = 'k'\nsetup = 'tcp'", there + "fingerprint = 'f'")),
      HasSubstr("setup = \"tcp\", which is for insecure = true"));
  EXPECT_THAT(extender_refusal(extender(listen + "insecure = true\nsetup = 'tcp'",
                                        "[extender.x.remote.r]\n"
                                        "address = ['192.0.2.2:7471', '192.0.2.3:7471']\n")),
              HasSubstr("remote r has several paths, and would be lost with the one"));
  EXPECT_THAT(
      extender_refusal(extender("setup = 'tcp'", "[extender.x.remote.r]\nfibre = 'unix:/r'\n")),
      HasSubstr("neither listens nor has a key"));
}

TEST(LabExtender, KeepsItsPortsToOtherSitesFromLinks) {
  const std::string third = "[[link]]\nends = [\"s:7\", \"edge";
  EXPECT_THAT(extender_refusal(kSite + third + ":3\"]"),
              HasSubstr("port edge:3 leads to another site"));
  EXPECT_THAT(extender_refusal(kSite + third + "\"]"),
              HasSubstr("edge: all its 4 ports are taken"));
}

TEST(LabExtender, RefusesWhatCannotBe) {
  const std::string listen = "listen = '192.0.2.1:7471'\n";
  const std::string fine = listen + "insecure = true";
  const std::string there = "[extender.x.remote.r]\naddress = ";
  EXPECT_THAT(extender_refusal(extender("insecure = true", there + "'192.0.2.2:7471'")),
              HasSubstr("lab.toml:1: extender.x: needs an address of this machine"));
  EXPECT_THAT(extender_refusal(extender(fine + "\nkey = 'k'", there + "'192.0.2.2:7471'")),
              HasSubstr("extender.x: has a key, and insecure = true: one of the two"));
  EXPECT_THAT(extender_refusal(extender(fine)),
              HasSubstr("extender.x: an extender leads to other sites"));
  EXPECT_THAT(extender_refusal(extender(fine, "[extender.x.remote]\nq = {}\nr = {}")),
              HasSubstr("extender.x.remote.r: remote q has no address either"));
  EXPECT_THAT(extender_refusal(extender(fine, there + "'nowhere'")),
              HasSubstr("lab.toml:5: extender.x.remote.r.address: must be an IP address"));
  EXPECT_THAT(extender_refusal(extender(fine, there + "'192.0.2.2:7471'\nrate = '0Gb/s'")),
              HasSubstr("extender.x.remote.r.rate: must be a rate"));
  EXPECT_THAT(extender_refusal(extender(fine, there + "'192.0.2.2:7471'\ndscp = { 16 = 1 }")),
              HasSubstr("extender.x.remote.r.dscp.16: there is no such SL; there are 0 to 15"));
  for (const char* const fec : {"10", "0+1", "33+1", "10+0", "10+9", "10+2 ", "+", "257+1"}) {
    EXPECT_THAT(extender_refusal(
                    extender(fine, there + "'192.0.2.2:7471'\nfec = '" + std::string(fec) + "'")),
                HasSubstr("extender.x.remote.r.fec: must be how many frames, 1 to 32"));
  }
  EXPECT_THAT(extender_refusal(extender(fine, there + "'192.0.2.2:7471'\ndscp = { 3 = 64 }")),
              HasSubstr("extender.x.remote.r.dscp.3: must be a number from 0 to 63"));
  EXPECT_THAT(extender_refusal(extender(fine, there + "'192.0.2.2:7471'\nrate = 'fast'")),
              HasSubstr("or \"auto\""));
  EXPECT_THAT(extender_refusal(extender(fine, there + "'192.0.2.1:7471'")),
              HasSubstr("192.0.2.1:7471 is where the extender itself listens"));
  EXPECT_THAT(extender_refusal(extender(fine,
                                        "[extender.x.remote]\nq = { address = '192.0.2.2:7471' }\n"
                                        "r = { address = '192.0.2.2:7471' }")),
              HasSubstr("192.0.2.2:7471 is the address of remote q too"));
  EXPECT_THAT(extender_refusal(extender(fine + "\nbuffer = '128KiB'", there + "'192.0.2.2:7471'")),
              HasSubstr("extender.x: needs a buffer of more than 128 KiB"));
  EXPECT_THAT(extender_refusal(extender(fine + "\nbuffer = 'much'", there + "'192.0.2.2:7471'")),
              HasSubstr("extender.x.buffer: must be a size"));
  EXPECT_THAT(extender_refusal(extender(fine + "\nports = 254", there + "'192.0.2.2:7471'")),
              HasSubstr("254 ports and 1 remotes: a switch has at most 254 ports"));
  EXPECT_THAT(
      extender_refusal(extender(fine, "[extender.x.remote.'a b']\naddress = '192.0.2.2:7471'")),
      HasSubstr("extender.x.remote.a b: a name has 1 to 63"));
}

constexpr const char* kRoutedSite = R"(
sm = { subnet_prefix = "fd00:0:0:1::/64" }
[extender.gate]
mode = "router"
ports = 2
port_guids = ["0x0002c90300001dd1", "0x0002c90300001dd2"]
listen = "192.0.2.1:7471"
insecure = true
[extender.gate.remote]
east = { address = "192.0.2.2:7471", prefixes = ["fd00:0:0:2::/64", "2001:db8::/32"] }
else = { address = "192.0.2.3:7471", prefixes = ["::/0"] }

[node.a]
[switch.s]

[[link]]
ends = ["a", "s"]
[[link]]
ends = ["s", "gate:2"]
)";

TEST(LabExtender, IsARouterWithoutPortsForItsRemotesWhereItSaysSo) {
  const auto lab = parse_lab(kRoutedSite, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_EQ(lab->management.subnet_prefix, 0xFD00'0000'0000'0001);
  ASSERT_EQ(lab->extenders.size(), 1u);
  const LabExtender& gate = lab->extenders[0];
  EXPECT_EQ(gate.mode, ExtenderMode::kRouter);
  const LabNode& node = lab->nodes[gate.node];
  EXPECT_EQ(node.name, "gate");
  EXPECT_EQ(node.kind, NodeKind::kRouter);
  EXPECT_EQ(node.ports, 2);
  EXPECT_EQ(node.port_guids[1], Guid{0x0002'C903'0000'1DD2});
  ASSERT_EQ(gate.remotes.size(), 2u);
  EXPECT_EQ(gate.remotes[0].prefixes[1].to_string(), "2001:db8::/32");
  EXPECT_EQ(gate.remotes[1].prefixes[0], GidPrefix());
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
}

TEST(LabExtender, HasItsPortsForLinksHoweverManyRemotesARouterHas) {
  const auto lab = parse_lab(
      "sm = 'none'\n[node.a]\n[extender.x]\nlisten = '192.0.2.1:7471'\ninsecure = true\n"
      "mode = 'router'\n"
      "[extender.x.remote.r]\naddress = '192.0.2.2:7471'\nprefixes = ['fd00:0:0:2::/64']\n"
      "[extender.x.remote.s]\naddress = '192.0.2.3:7471'\nprefixes = ['fd00:0:0:3::/64']\n"
      "[extender.x.remote.t]\naddress = '192.0.2.4:7471'\nprefixes = ['fd00:0:0:4::/64']\n"
      "[[link]]\nends = ['a', 'x']\n",
      "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_EQ(lab->links[0].ends[1].port, 1);
}

TEST(LabExtender, MayHaveItsPrefixesFromTheKernel) {
  const auto lab = parse_lab(
      "sm = { subnet_prefix = 'fd00:0:0:1::/64' }\n[extender.x]\nlisten = '192.0.2.1:7471'\n"
      "insecure = true\nmode = 'router'\nroute_table = 'main'\n[extender.x.remote.r]\n"
      "next_hop = 'fe80::2'\n[extender.x.remote.s]\naddress = '[2001:db8::2]:7471'",
      "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_EQ(lab->extenders[0].route_table, 254u);
  EXPECT_EQ(lab->extenders[0].remotes[0].next_hop->to_string(), "fe80::2");
  EXPECT_FALSE(lab->extenders[0].remotes[1].next_hop);
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
}

TEST(LabExtender, CanBeForHostsWithRoceAndNothingElse) {
  const std::string gate =
      "sm = 'none'\n[extender.x]\nlisten = '192.0.2.1:7471'\ninsecure = true\n";
  const std::string there = "[extender.x.remote.r]\naddress = '192.0.2.2:7471'\n";
  const auto lab = parse_lab(gate + "mode = 'roce'\nhosts = 'eth1'\n" + there, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  ASSERT_EQ(lab->extenders.size(), 1u);
  EXPECT_EQ(lab->extenders[0].mode, ExtenderMode::kRoce);
  EXPECT_EQ(lab->extenders[0].hosts, "eth1");
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
  EXPECT_THAT(
      extender_refusal(gate + "mode = 'roce'\n" + there),
      HasSubstr("lab.toml:2: extender.x: needs the interface where the hosts with RoCE are"));
  EXPECT_THAT(extender_refusal(gate + "hosts = 'eth1'\n" + there),
              HasSubstr("extender.x: hosts are of an extender with mode = \"roce\""));
}

TEST(LabExtender, ForHostsWithRoceIsCountedByItselfAndNotAsARouter) {
  const std::string gate =
      "[part.wan]\n[part.lan]\n[extender.x]\npart = 'wan'\nmode = 'roce'\nhosts = 'eth1'\n"
      "listen = '192.0.2.1:7471'\ninsecure = true\n[extender.x.remote.r]\naddress = "
      "'192.0.2.2:7471'\n";
  const std::string rack =
      "[switch.s]\npart = 'lan'\n[node.a]\npart = 'lan'\n[node.b]\npart = 'lan'\n"
      "[[link]]\nends = ['a', 's']\n";
  const auto lab = parse_lab(gate + rack, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_EQ(census_of(*lab).to_string(), "1 switches, 2 channel adapters, 1 RoCE extenders");
  EXPECT_FALSE(census_of(*lab).is_roce_alone());
  EXPECT_EQ(census_of(*lab, 0).to_string(), "1 RoCE extenders");
  EXPECT_TRUE(census_of(*lab, 0).is_roce_alone());
  EXPECT_EQ(census_of(*lab, 1).to_string("nodes"), "1 switches, 2 nodes");
  EXPECT_FALSE(census_of(*lab, 1).is_roce_alone());
}

TEST(LabExtender, RefusesWhatNoRouterCanBe) {
  const std::string own = "sm = { subnet_prefix = 'fd00:0:0:1::/64' }\n";
  const std::string gate = "[extender.x]\nlisten = '192.0.2.1:7471'\ninsecure = true\n";
  const std::string router = gate + "mode = 'router'\n";
  const std::string there = "[extender.x.remote.r]\naddress = '192.0.2.2:7471'\n";
  const std::string prefixes = there + "prefixes = ";
  EXPECT_THAT(extender_refusal(own + gate + "mode = 'hub'\n" + there),
              HasSubstr("lab.toml:5: extender.x.mode: must be bridge, router or roce"));
  EXPECT_THAT(extender_refusal(own + gate + prefixes + "['fd00:0:0:2::/64']"),
              HasSubstr("extender.x.remote.r.prefixes: are of an extender with mode = \"router\""));
  EXPECT_THAT(extender_refusal(own + router + there),
              HasSubstr("extender.x.remote.r: needs the prefixes of the subnets there"));
  EXPECT_THAT(extender_refusal(own + router + prefixes + "['fd00:0:0:2::1/64']"),
              HasSubstr("prefixes: must be a prefix of GIDs, without bits after it"));
  EXPECT_THAT(extender_refusal(own + router + prefixes + "['fe80::/64']"),
              HasSubstr("fe80::/64: link-local and multicast GIDs are not routed"));
  EXPECT_THAT(extender_refusal(own + router + prefixes + "['ff00::/8']"),
              HasSubstr("ff00::/8: link-local and multicast GIDs are not routed"));
  EXPECT_THAT(extender_refusal(own + router + prefixes + "['fd00:0:0:1:8000::/65']"),
              HasSubstr("remote.r.prefixes: fd00:0:0:1:8000::/65 is in the subnet of this lab"));
  EXPECT_THAT(extender_refusal(own + router + prefixes +
                               "['fd00:0:0:2::']\n[extender.x.remote.s]\n"
                               "prefixes = ['fd00:0:0:2::/64']"),
              HasSubstr("remote.s.prefixes: fd00:0:0:2::/64 is remote r's too"));
  EXPECT_THAT(extender_refusal(router + prefixes + "['fd00:0:0:2::/64']"),
              HasSubstr("a router joins subnets that have prefixes of their own"));
  EXPECT_THAT(
      extender_refusal(own + router + "linear_entries = 7\n" + prefixes + "['fd00:0:0:2::/64']"),
      HasSubstr("extender.x.linear_entries: there is no such key"));
  const std::string table = own + router + "route_table = 100\n";
  EXPECT_THAT(extender_refusal(own + gate + "route_table = 100\n" + there),
              HasSubstr("extender.x.route_table: is of an extender with mode = \"router\""));
  EXPECT_THAT(
      extender_refusal(own + router + "route_table = 0\n" + prefixes + "['fd00:0:0:2::/64']"),
      HasSubstr("extender.x.route_table: must be \"main\" or the number of a routing table"));
  EXPECT_THAT(
      extender_refusal(own + router + prefixes + "['fd00:0:0:2::/64']\nnext_hop = '2001:db8::2'"),
      HasSubstr("remote.r.next_hop: is for an extender with a route_table"));
  EXPECT_THAT(extender_refusal(table + there + "next_hop = '192.0.2.2'"),
              HasSubstr("remote.r.next_hop: must be the IPv6 address by which routes lead there"));
  EXPECT_THAT(extender_refusal(table + there),
              HasSubstr("remote.r: needs the IPv6 address by which routes lead there"));
  EXPECT_THAT(extender_refusal(table + there + "next_hop = '2001:db8::2'\n[extender.x.remote.s]\n" +
                               "next_hop = '2001:db8::2'"),
              HasSubstr("remote.s.next_hop: 2001:db8::2 is remote r's too"));
  for (const char* const wrong : {"fd00:0:0:1::/48", "ff00::/64", "::/64", "fd00::1/128", "x"}) {
    EXPECT_THAT(extender_refusal("sm = { subnet_prefix = '" + std::string(wrong) + "' }\n[node.a]"),
                HasSubstr("lab.toml:1: sm.subnet_prefix: must be "))
        << wrong;
  }
  // Whoever comes to manage it gives it a prefix.
  EXPECT_TRUE(parse_lab("sm = 'none'\n" + router + prefixes + "['fd00:0:0:2::/64']", "lab.toml"));
}

TEST(LabExtender, IsSealedUnlessItIsSaidThatItNeedNotBe) {
  const std::string listen = "listen = '192.0.2.1:7471'\n";
  const std::string there = "[extender.x.remote.r]\naddress = '192.0.2.2:7471'\n";
  const std::string without = extender_refusal(extender(listen, there));
  EXPECT_THAT(without, HasSubstr("lab.toml:1: extender.x: needs a key, for what crosses the WAN is "
                                 "encrypted: `weft extend keygen site.key` makes one"));
  EXPECT_THAT(without, HasSubstr("or insecure = true"));
  EXPECT_THAT(extender_refusal(extender(listen + "insecure = false", there)),
              HasSubstr("needs a key"));
  EXPECT_THAT(extender_refusal(extender(listen + "key = 'x.key'", there)),
              HasSubstr("extender.x: remote r needs the fingerprint of its key"));
  EXPECT_THAT(extender_refusal(extender(listen + "key = ''", there)),
              HasSubstr("extender.x.key: "));
  for (const char* const fingerprint : {"7", "[]", "['']", "{}", "['a', 7]"}) {
    EXPECT_THAT(extender_refusal(
                    extender(listen + "key = 'k'", there + "fingerprint = " + fingerprint + "\n")),
                HasSubstr("lab.toml:6: extender.x.remote.r.fingerprint"))
        << fingerprint;
  }
  for (const char* const time : {"0s", "999ms", "86401s", "soon"}) {
    EXPECT_THAT(extender_refusal(extender(listen + "key = 'k'\nkey_time = '" + time + "'", there)),
                HasSubstr("extender.x.key_time: must be a time from 1s to 86400s"))
        << time;
  }
}

constexpr const char* kSealed = R"(
[node.a]
[extender.edge]
ports = 1
listen = "192.0.2.1:7471"
key = "keys/our \"own\".key"
certificate = "our.crt"
key_time = "90s"
[extender.edge.remote]
one = { fingerprint = "SHA256:x" }
two = { fingerprint = ["two.pub", "SHA256:y"] }
[[link]]
ends = ["a", "edge"]
)";

TEST(LabExtender, HasKeysThatTellRemotesApartAlsoWithoutAddresses) {
  const auto lab = parse_lab(kSealed, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const LabExtender& edge = lab->extenders.at(0);
  EXPECT_FALSE(edge.insecure);
  EXPECT_EQ(edge.key, "keys/our \"own\".key");
  EXPECT_EQ(edge.certificate, "our.crt");
  EXPECT_EQ(edge.key_time, 90s);
  EXPECT_EQ(edge.remotes.at(0).fingerprints, std::vector<std::string>{"SHA256:x"});
  EXPECT_EQ(edge.remotes.at(1).fingerprints, (std::vector<std::string>{"two.pub", "SHA256:y"}));
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message << write_lab(*lab, "");
  EXPECT_EQ(*again, *lab);
}

}  // namespace
}  // namespace weft::fabric
