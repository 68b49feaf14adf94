// SPDX-License-Identifier: Apache-2.0
// Graphs of switches out of labs, and such as no lab would have.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "fabric/lab.h"
#include "fabric/lab_generate.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

// LIDs in the order of the lab's nodes, aligned to 2^lmc; switches have one.
inline SwitchGraph graph_of(const fabric::Lab& lab, std::uint8_t lmc = 0) {
  SwitchGraph graph;
  std::vector<SwitchIndex> index(lab.nodes.size());
  for (std::size_t i = 0; i < lab.nodes.size(); ++i) {
    if (lab.nodes[i].kind != fabric::NodeKind::kSwitch) continue;
    index[i] = graph.add_switch(lab.nodes[i].guid, lab.nodes[i].ports);
  }
  const auto is_switch = [&](const fabric::LabEnd& end) {
    return lab.nodes[end.node].kind == fabric::NodeKind::kSwitch;
  };
  unsigned lid = 1;
  for (std::size_t i = 0; i < lab.nodes.size(); ++i) {
    if (lab.nodes[i].kind != fabric::NodeKind::kSwitch) continue;
    EXPECT_TRUE(graph.attach({.at = index[i], .lid = Lid{static_cast<std::uint16_t>(lid++)}}));
  }
  const unsigned step = 1u << lmc;
  for (const fabric::LabLink& link : lab.links) {
    const auto& [a, b] = link.ends;
    if (is_switch(a) && is_switch(b)) {
      EXPECT_TRUE(graph.connect(index[a.node], a.port, index[b.node], b.port));
      continue;
    }
    const fabric::LabEnd& side = is_switch(a) ? a : b;
    lid = (lid + step - 1) / step * step;
    EXPECT_TRUE(graph.attach({.at = index[side.node],
                              .port = side.port,
                              .lid = Lid{static_cast<std::uint16_t>(lid)},
                              .lmc = lmc}));
    lid += step;
  }
  graph.finish();
  return graph;
}

inline SwitchGraph fat_tree(const std::vector<unsigned>& down, std::uint8_t lmc = 0) {
  return graph_of(*fabric::generate_fat_tree(down, "tree"), lmc);
}
inline SwitchGraph torus(const std::vector<unsigned>& sizes, unsigned hosts = 1) {
  return graph_of(*fabric::generate_torus(sizes, hosts, "torus"));
}
inline SwitchGraph dragonfly(const std::vector<unsigned>& size) {
  return graph_of(*fabric::generate_dragonfly(size, "dragonfly"));
}

// Connected, with cables wherever, parallel ones and switches without hosts among them.
inline SwitchGraph random_graph(std::uint64_t seed) {
  Random random(seed);
  SwitchGraph graph;
  const auto count = static_cast<SwitchIndex>(random.between(2, 30));
  std::vector<std::uint8_t> next(count, 1);
  constexpr std::uint8_t kPorts = 100;
  std::uint16_t lid = 1;
  for (SwitchIndex at = 0; at < count; ++at) {
    graph.add_switch(Guid{1000 + random.below(1000) * 100 + at}, kPorts);
    EXPECT_TRUE(graph.attach({.at = at, .lid = Lid{lid++}}));
  }
  const auto cable = [&](SwitchIndex a, SwitchIndex b) {
    if (next[a] > 60 || next[b] > 60 || a == b) return;
    EXPECT_TRUE(graph.connect(a, next[a], b, next[b]));
    ++next[a];
    ++next[b];
  };
  for (SwitchIndex at = 1; at < count; ++at)
    cable(at, static_cast<SwitchIndex>(random.below(at)));
  for (auto more = random.below(3 * count); more > 0; --more) {
    cable(static_cast<SwitchIndex>(random.below(count)),
          static_cast<SwitchIndex>(random.below(count)));
  }
  for (auto hosts = random.between(1, 3 * count); hosts > 0; --hosts) {
    const auto at = static_cast<SwitchIndex>(random.below(count));
    if (next[at] >= kPorts) continue;
    EXPECT_TRUE(graph.attach({.at = at, .port = next[at]++, .lid = Lid{lid++}}));
  }
  graph.finish();
  return graph;
}

}  // namespace weft::sm
