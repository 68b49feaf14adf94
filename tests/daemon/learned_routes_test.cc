// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/learned_routes.h"

#include <gtest/gtest.h>

#include "base/gid_text.h"

namespace weft::daemon {
namespace {

io::KernelRoute route(const char* prefix, const char* gateway, std::uint32_t metric = 1024) {
  return {.prefix = *parse_gid_prefix(prefix), .gateway = *parse_gid(gateway), .metric = metric};
}

// Three sites: one with an address of its own for routes, one whose address is IPv6, one without.
fabric::LabExtender extender() {
  fabric::LabExtender out;
  out.remotes.resize(3);
  out.remotes[0].address = fabric::parse_part_address("192.0.2.1:7471");
  out.remotes[0].next_hop = parse_gid("fe80::1");
  out.remotes[1].address = fabric::parse_part_address("[2001:db8::2]:7471");
  out.remotes[2].address = fabric::parse_part_address("192.0.2.3:7471");
  return out;
}

TEST(LearnedRoutes, LeadToTheSiteOfTheirGateway) {
  const auto learned =
      learn_routes({route("fd00:0:0:3::/64", "2001:db8::2"), route("fd00:0:0:2::/64", "fe80::1"),
                    route("fd00:0:0:4::/64", "2001:db8::4")},
                   extender());
  EXPECT_EQ(learned, (std::vector<LearnedRoute>{{*parse_gid_prefix("fd00:0:0:2::/64"), 0},
                                                {*parse_gid_prefix("fd00:0:0:3::/64"), 1}}));
}

TEST(LearnedRoutes, AreTheBestOfEachPrefix) {
  const std::vector<LearnedRoute> to_first{{*parse_gid_prefix("fd00:0:0:2::/64"), 0}};
  EXPECT_EQ(learn_routes({route("fd00:0:0:2::/64", "2001:db8::2", 9),
                          route("fd00:0:0:2::/64", "fe80::1", 5)},
                         extender()),
            to_first);
  // One that leads to nobody hides others that are worse, and is none itself.
  EXPECT_TRUE(
      learn_routes({route("fd00:0:0:2::/64", "fe80::1", 9), route("fd00:0:0:2::/64", "fe80::9", 5)},
                   extender())
          .empty());
  EXPECT_EQ(
      learn_routes({route("fd00:0:0:2::/64", "fe80::1", 5), route("fd00:0:0:2::/64", "fe80::9", 9)},
                   extender()),
      to_first);
}

TEST(LearnedRoutes, AreNoneOfWhatIsNotRouted) {
  EXPECT_TRUE(learn_routes({route("fe80::/64", "fe80::1"), route("ff00::/8", "fe80::1"),
                            route("fe80:0:0:7::/64", "fe80::1")},
                           extender())
                  .empty());
  EXPECT_EQ(learn_routes({route("::/0", "fe80::1")}, extender()).size(), 1u);
}

}  // namespace
}  // namespace weft::daemon
