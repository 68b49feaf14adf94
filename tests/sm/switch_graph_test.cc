// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/switch_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sm {
namespace {

using ::testing::HasSubstr;

TEST(SwitchGraph, KnowsBothDirectionsOfEachLink) {
  SwitchGraph graph;
  const auto a = graph.add_switch(Guid{1}, 4);
  const auto b = graph.add_switch(Guid{2}, 4);
  ASSERT_TRUE(graph.connect(b, 3, a, 2));
  ASSERT_TRUE(graph.connect(a, 1, b, 4));
  graph.finish();
  ASSERT_EQ(graph.hops_of(a).size(), 2u);
  EXPECT_EQ(graph.hops_of(a)[0].port, 1);
  EXPECT_EQ(graph.hops_of(a)[1].port, 2);
  for (const Hop& hop : graph.hops()) {
    const Hop& back = graph.hops()[hop.back];
    EXPECT_EQ(back.from, hop.to);
    EXPECT_EQ(back.to, hop.from);
    EXPECT_EQ(back.port, hop.peer_port);
    EXPECT_EQ(back.peer_port, hop.port);
  }
}

TEST(SwitchGraph, LeavesOutALinkOfASwitchWithItself) {
  SwitchGraph graph;
  const auto a = graph.add_switch(Guid{1}, 4);
  ASSERT_TRUE(graph.connect(a, 1, a, 2));
  graph.finish();
  EXPECT_TRUE(graph.hops().empty());
}

TEST(SwitchGraph, RefusesWhatCannotBe) {
  SwitchGraph graph;
  const auto a = graph.add_switch(Guid{0x10}, 4);
  const auto refusal = [&](const EndPort& end) { return graph.attach(end).error().message; };
  EXPECT_THAT(refusal({.at = a, .port = 5, .lid = Lid{1}}),
              HasSubstr("port 5 of switch 0x0000000000000010: it has 4 ports"));
  ASSERT_TRUE(graph.attach({.at = a, .port = 1, .lid = Lid{4}, .lmc = 2}));
  EXPECT_THAT(refusal({.at = a, .port = 1, .lid = Lid{9}}), HasSubstr("is used twice"));
  EXPECT_THAT(refusal({.at = a, .port = 2, .lid = Lid{7}}), HasSubstr("LID 7 has two owners"));
  EXPECT_THAT(refusal({.at = a, .port = 3, .lid = Lid{2}, .lmc = 2}), HasSubstr("LMC 2"));
  EXPECT_THAT(refusal({.at = a, .port = 4, .lid = Lid{0}}), HasSubstr("LID 0"));
  EXPECT_THAT(graph.attach({.at = a, .port = 0, .lid = Lid{0xC000}}).error().message,
              HasSubstr("LID 49152"));
}

TEST(SwitchGraph, FindsTheOwnerOfEachLid) {
  SwitchGraph graph;
  const auto a = graph.add_switch(Guid{1}, 4);
  ASSERT_TRUE(graph.attach({.at = a, .port = 0, .lid = Lid{1}}));
  ASSERT_TRUE(graph.attach({.at = a, .port = 2, .lid = Lid{4}, .lmc = 1}));
  graph.finish();
  EXPECT_EQ(graph.owner(Lid{1}), 0u);
  EXPECT_EQ(graph.owner(Lid{5}), 1u);
  EXPECT_EQ(graph.owner(Lid{3}), SwitchGraph::kNobody);
  EXPECT_EQ(graph.owner(Lid{6}), SwitchGraph::kNobody);
  EXPECT_EQ(graph.lid_end(), 6u);
  EXPECT_TRUE(graph.has_hosts(a));
}

}  // namespace
}  // namespace weft::sm
