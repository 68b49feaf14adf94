// SPDX-License-Identifier: Apache-2.0
// What a lab file says of data services that work on external servers.
#include "fabric/lab_external.h"

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

constexpr const char* kLabExternalNodes = "[switch.s]\n[node]\na = {}\nfw1 = {}\nfw2 = {}\n";
constexpr const char* kLabExternalPair =
    "[service.firewall]\ntype = 'external'\nat = [['fw1', 'fw2']]\n"
    "server = ['192.0.2.9:7471', '[2001:db8::9]:7472']\nlisten = '192.0.2.1:7000'\n"
    "key = 'fabric.key'\ncertificate = 'fabric.pem'\nfingerprint = ['a.pub', 'SHA256:b']";

std::string external_error_of(const std::string& keys) {
  const auto lab = parse_lab(
      kLabExternalNodes + ("[service.x]\ntype = 'external'\nat = 'fw1'\n" + keys), "lab.toml");
  return lab ? "" : lab.error().message;
}

TEST(LabExternal, HasAServerForEachPort) {
  const Lab lab = parsed(std::string(kLabExternalNodes) + kLabExternalPair);
  ASSERT_THAT(lab.data.services, SizeIs(1));
  const LabService& service = lab.data.services[0];
  EXPECT_TRUE(service.is_external());
  const LabExtender first = service.external.way_of(0);
  EXPECT_EQ(to_string(first.listen), "192.0.2.1:7000");
  EXPECT_EQ(first.key, "fabric.key");
  EXPECT_EQ(first.certificate, "fabric.pem");
  EXPECT_FALSE(first.insecure);
  ASSERT_THAT(first.remotes, SizeIs(1));
  EXPECT_EQ(to_string(*first.remotes[0].address), "192.0.2.9:7471");
  EXPECT_THAT(first.remotes[0].fingerprints, ElementsAre("a.pub", "SHA256:b"));
  // No two places are at one port of this machine.
  const LabExtender second = service.external.way_of(1);
  EXPECT_EQ(second.listen.port, 0);
  EXPECT_EQ(to_string(*second.remotes[0].address), "[2001:db8::9]:7472");
}

TEST(LabExternal, IsReachedFromAnyAddressOfTheSameIp) {
  LabExternal external;
  external.servers = {*parse_part_address("192.0.2.9:7471"),
                      *parse_part_address("[2001:db8::9]:7471")};
  EXPECT_TRUE(external.way_of(0).listen.host.is_ipv4_mapped());
  EXPECT_TRUE(external.way_of(1).listen.host.is_zero());
}

TEST(LabExternal, HasAPlaceForEachKeyAtTheServer) {
  LabExternalServer server{.listens = {*parse_part_address("192.0.2.9:7471")},
                           .key = "server.key",
                           .certificate = {},
                           .fingerprints = {"a.pub", "b.pub"}};
  const LabExtender ways = server.ways();
  ASSERT_THAT(ways.remotes, SizeIs(2));
  EXPECT_EQ(ways.remotes[1].name, "place2");
  EXPECT_THAT(ways.remotes[1].fingerprints, ElementsAre("b.pub"));
  EXPECT_FALSE(ways.remotes[0].address) << "it comes here";
  server = {.listens = server.listens,
            .key = {},
            .certificate = {},
            .fingerprints = {},
            .insecure = true};
  EXPECT_THAT(server.ways().remotes, SizeIs(1));
}

TEST(LabExternal, IsWrittenAsItIsRead) {
  for (const std::string& text :
       {std::string(kLabExternalPair),
        std::string("[service.x]\ntype = 'external'\nat = 'fw1'\nserver = '192.0.2.9:7471'\n"
                    "insecure = true")}) {
    const Lab lab = parsed(kLabExternalNodes + text);
    EXPECT_EQ(parsed(write_lab(lab)), lab) << write_lab(lab);
  }
}

TEST(LabExternal, SaysWhatIsWrongAndWhere) {
  const std::string server = "server = '192.0.2.9:7471'\n";
  EXPECT_EQ(external_error_of(server + "insecure = true"), "");
  EXPECT_EQ(external_error_of(server + "key = 'k'\nfingerprint = 'f'"), "");
  EXPECT_THAT(external_error_of("insecure = true"),
              HasSubstr("needs the address where its server listens"));
  EXPECT_THAT(external_error_of("server = 'there'"), HasSubstr("must be an IP address"));
  EXPECT_THAT(external_error_of("server = ['192.0.2.9:1', '192.0.2.9:1']"),
              HasSubstr("is there twice"));
  EXPECT_THAT(external_error_of("server = ['192.0.2.9:1', '192.0.2.9:2']\ninsecure = true"),
              HasSubstr("2 servers for 1 ports"));
  EXPECT_THAT(external_error_of(server), HasSubstr("needs a key"));
  EXPECT_THAT(external_error_of(server + "key = 'k'"), HasSubstr("needs the fingerprint"));
  EXPECT_THAT(external_error_of(server + "key = 'k'\ninsecure = true"),
              HasSubstr("one of the two"));
  const auto other = parse_lab(
      kLabExternalNodes + ("[service.firewall]\nat = 'fw1'\n" + server + "insecure = true"),
      "lab.toml");
  EXPECT_FALSE(other) << "a firewall has no server";
}

}  // namespace
}  // namespace weft::fabric
