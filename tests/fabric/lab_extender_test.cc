// SPDX-License-Identifier: Apache-2.0
// The extenders of lab files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
[extender.edge.remote]
"far.away" = { address = "[2001:db8::1]:7471" }
near = {}

[node.a]
[switch.s]

[[link]]
ends = ["a", "edge"]
[[link]]
ends = ["s", "edge"]
)";

std::string refusal(const std::string& text) {
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
  ASSERT_EQ(edge.remotes.size(), 2u);
  EXPECT_EQ(edge.remotes[0].name, "far.away");
  EXPECT_EQ(to_string(edge.remotes[0].address.value()), "[2001:db8::1]:7471");
  EXPECT_EQ(edge.remotes[1].address, std::nullopt);
  EXPECT_EQ(edge.port_of(0), 3);
  EXPECT_EQ(edge.port_of(1), 4);
  EXPECT_EQ(lab->find_extender(edge.node), &edge);
  EXPECT_EQ(lab->find_extender(edge.node + 1), nullptr);
}

TEST(LabExtender, IsWrittenSoThatItReadsBackTheSame) {
  const auto lab = parse_lab(kSite, "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
}

TEST(LabExtender, KeepsItsPortsToOtherSitesFromLinks) {
  const std::string third = "[[link]]\nends = [\"s:7\", \"edge";
  EXPECT_THAT(refusal(kSite + third + ":3\"]"), HasSubstr("port edge:3 leads to another site"));
  EXPECT_THAT(refusal(kSite + third + "\"]"), HasSubstr("edge: all its 4 ports are taken"));
}

TEST(LabExtender, RefusesWhatCannotBe) {
  const std::string listen = "listen = '192.0.2.1:7471'\n";
  const std::string fine = listen + "insecure = true";
  const std::string there = "[extender.x.remote.r]\naddress = ";
  EXPECT_THAT(refusal(extender("insecure = true", there + "'192.0.2.2:7471'")),
              HasSubstr("lab.toml:1: extender.x: needs an address of this machine"));
  EXPECT_THAT(refusal(extender(listen, there + "'192.0.2.2:7471'")),
              HasSubstr("extender.x: what crosses the WAN is not encrypted"));
  EXPECT_THAT(refusal(extender(fine)), HasSubstr("extender.x: an extender leads to other sites"));
  EXPECT_THAT(refusal(extender(fine, "[extender.x.remote]\nq = {}\nr = {}")),
              HasSubstr("extender.x.remote.r: remote q has no address either"));
  EXPECT_THAT(refusal(extender(fine, there + "'nowhere'")),
              HasSubstr("lab.toml:5: extender.x.remote.r.address: must be an IP address"));
  EXPECT_THAT(refusal(extender(fine, there + "'192.0.2.1:7471'")),
              HasSubstr("192.0.2.1:7471 is where the extender itself listens"));
  EXPECT_THAT(refusal(extender(fine,
                               "[extender.x.remote]\nq = { address = '192.0.2.2:7471' }\n"
                               "r = { address = '192.0.2.2:7471' }")),
              HasSubstr("192.0.2.2:7471 is the address of remote q too"));
  EXPECT_THAT(refusal(extender(fine + "\nbuffer = '128KiB'", there + "'192.0.2.2:7471'")),
              HasSubstr("extender.x.buffer: must be more than 128 KiB"));
  EXPECT_THAT(refusal(extender(fine + "\nports = 254", there + "'192.0.2.2:7471'")),
              HasSubstr("254 ports and 1 remotes: a switch has at most 254 ports"));
  EXPECT_THAT(refusal(extender(fine, "[extender.x.remote.'a b']\naddress = '192.0.2.2:7471'")),
              HasSubstr("extender.x.remote.a b: a name has 1 to 63"));
}

}  // namespace
}  // namespace weft::fabric
