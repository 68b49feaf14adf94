// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fabric/lab_file.h"

namespace weft::daemon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

std::string settings_refusal(const Json& options) {
  fabric::LabLan lan;
  const auto changed = change_lan(lan, options);
  EXPECT_FALSE(changed) << options.dump();
  return changed ? "" : changed.error().message;
}

TEST(LanSettings, ChangeWhatIsNamedAndNothingElse) {
  fabric::LabLan lan{.name = "eth0", .netns = "{node}"};
  ASSERT_TRUE(change_lan(lan, Json{{"mtu", 9000}, {"offloads", false}, {"netns", ""}}));
  EXPECT_EQ(lan, (fabric::LabLan{.name = "eth0", .netns = {}, .mtu = 9000, .offloads = false}));
  ASSERT_TRUE(change_lan(lan, Json{{"queues", 16}, {"channels", 0}, {"name", "l{port}"}}));
  EXPECT_EQ(lan, (fabric::LabLan{.name = "l{port}",
                                 .netns = {},
                                 .mtu = 9000,
                                 .queues = 16,
                                 .offloads = false,
                                 .channels = 0}));
  ASSERT_TRUE(change_lan(lan, Json{{"bridge", false}}));
  EXPECT_EQ(lan.bridge, false);
  ASSERT_TRUE(change_lan(lan, Json::object()));
  EXPECT_EQ(lan.bridge, false);
  ASSERT_TRUE(change_lan(lan, Json{{"bridge", "auto"}}));
  EXPECT_EQ(lan.bridge, std::nullopt);
}

TEST(LanSettings, RefuseWhatCannotBe) {
  EXPECT_THAT(settings_refusal({{"mtu", 67}}), HasSubstr("mtu: must be a number from 68 to 65521"));
  EXPECT_THAT(settings_refusal({{"mtu", 65'522}}), HasSubstr("mtu: must be"));
  EXPECT_THAT(settings_refusal({{"mtu", 1ull << 32 | 1500}}), HasSubstr("mtu: must be"));
  EXPECT_THAT(settings_refusal({{"mtu", "1500"}}), HasSubstr("mtu: must be"));
  EXPECT_THAT(settings_refusal({{"queues", 0}}),
              HasSubstr("queues: must be a number from 1 to 16"));
  EXPECT_THAT(settings_refusal({{"queues", -1}}), HasSubstr("queues: must be"));
  EXPECT_THAT(settings_refusal({{"channels", 1025}}), HasSubstr("channels: must be"));
  EXPECT_THAT(settings_refusal({{"name", "a b"}}),
              HasSubstr("name: must be the name of an interface"));
  EXPECT_THAT(settings_refusal({{"name", nullptr}}),
              HasSubstr("name: must be the name of an interface"));
  EXPECT_THAT(settings_refusal({{"netns", "../a"}}),
              HasSubstr("netns: must be a network namespace"));
  EXPECT_THAT(settings_refusal({{"offloads", 1}}), HasSubstr("offloads"));
  EXPECT_THAT(settings_refusal({{"bridge", 1}}),
              HasSubstr("bridge: must be true, false or \"auto\""));
  EXPECT_THAT(settings_refusal({{"bridge", "on"}}), HasSubstr("bridge: must be"));
  EXPECT_THAT(settings_refusal({{"speed", 1}}), HasSubstr("speed: no LAN port has such an option"));
}

TEST(LanSettings, FindNamespacesWhereIpNetnsHasThem) {
  EXPECT_EQ(netns_file(""), "");
  EXPECT_EQ(netns_file("a"), "/run/netns/a");
  EXPECT_EQ(netns_file("/proc/1/ns/net"), "/proc/1/ns/net");
}

TEST(LanSettings, NameTheNamespacesThatAreNotThere) {
  const auto lab = fabric::parse_lab(
      "lan = { netns = '/nowhere/{node}' }\n[node.a]\n[node.b]\nlan = { netns = "
      "'/proc/self/ns/net' "
      "}",
      "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const auto missing = missing_for_lan({&lab->nodes[0], &lab->nodes[1]});
  EXPECT_THAT(missing, Contains(HasSubstr("not there: /nowhere/a; make them with ip netns add")));
  EXPECT_THAT(missing_for_lan({&lab->nodes[1]}), Not(Contains(HasSubstr("not there"))));
  EXPECT_TRUE(missing_for_lan({}).empty());
}

}  // namespace
}  // namespace weft::daemon
