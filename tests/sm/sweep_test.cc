// SPDX-License-Identifier: Apache-2.0
// The manager on whole fabrics in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "fabric/lab_generate.h"
#include "managed_lab.h"
#include "sim/seeds.h"
#include "some_lab.h"

namespace weft::sm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void expect_all_reach_all(ManagedLab& lab) {
  std::vector<std::string> hosts;
  for (const fabric::LabNode& node : lab.running.fabric.lab().nodes) {
    if (node.kind == fabric::NodeKind::kChannelAdapter) hosts.push_back(node.name);
  }
  for (const auto& from : hosts) {
    for (const auto& to : hosts) {
      EXPECT_TRUE(from == to || lab.reaches(from, to)) << from << " to " << to;
    }
  }
}

TEST(Sweep, BringsUpAFabric) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  const SweepReport& report = lab.sweep();
  EXPECT_EQ(report.switches, 2u);
  EXPECT_EQ(report.adapters, 4u);
  EXPECT_EQ(report.end_ports, 6u);
  EXPECT_EQ(report.links, 5u);
  EXPECT_EQ(report.failures, 0u);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(lab.active_links(), 5u);
  expect_all_reach_all(lab);
}

TEST(Sweep, BringsUpAFabricFromASwitch) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "s2");
  EXPECT_THAT(lab.sweep().problems, IsEmpty());
  EXPECT_EQ(lab.active_links(), 5u);
  expect_all_reach_all(lab);
}

TEST(Sweep, WritesNothingThatIsRightAlready) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  EXPECT_GT(lab.sweep().writes, 0u);
  EXPECT_EQ(lab.sweep().writes, 0u);
}

TEST(Sweep, GoesRoundALinkThatIsGone) {
  const auto ring = fabric::generate_torus({4}, 1, "ring");
  ASSERT_TRUE(ring);
  ManagedLab lab(*ring, ring->nodes[4].name);
  lab.sweep();
  expect_all_reach_all(lab);
  std::size_t between = 0;
  while (lab.running.fabric.lab().links[between].ends[1].node >= 4 ||
         lab.running.fabric.lab().links[between].ends[0].node >= 4) {
    ++between;
  }
  lab.running.fabric.link(between).set_plugged(false, lab.running.now);
  lab.running.settle();
  lab.sweep();
  expect_all_reach_all(lab);
  lab.running.fabric.link(between).set_plugged(true, lab.running.now);
  lab.running.run_for(10ms);
  lab.sweep();
  EXPECT_EQ(lab.active_links(), lab.running.fabric.link_count());
  expect_all_reach_all(lab);
}

// How often a node is asked to register anew.
struct Asked final : fabric::Node::PortObserver {
  explicit Asked(fabric::Node& of) : node(of) { node.add_observer(*this); }
  ~Asked() override { node.remove_observer(*this); }
  void port_changed(mgmt::PortNumber, bool reregister) override { times += reregister ? 1 : 0; }
  fabric::Node& node;
  unsigned times = 0;
};

// The administrator has forgotten what they registered, and their own ports never went down.
TEST(Sweep, AsksPortsThatWereAwayToRegisterAnew) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  Asked near(*lab.running.fabric.find_node("b"));
  Asked far(*lab.running.fabric.find_node("c"));
  link::Link& trunk = lab.running.fabric.link(*lab.running.fabric.find_link("trunk"));
  lab.sweep();
  EXPECT_EQ(near.times, 1u);
  EXPECT_EQ(far.times, 1u);
  trunk.set_plugged(false, lab.running.now);
  lab.sweep();
  const Lid before = lab.lid("c");
  trunk.set_plugged(true, lab.running.now);
  lab.running.settle();
  lab.sweep();
  EXPECT_EQ(lab.lid("c"), before);
  EXPECT_EQ(near.times, 1u);
  EXPECT_EQ(far.times, 2u);
  EXPECT_EQ(lab.sweep().writes, 0u);
  EXPECT_EQ(far.times, 2u);
}

TEST(Sweep, GivesSeveralLidsToAdaptersThatAreToHaveThem) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.setup = {.lmc = 2}});
  lab.sweep();
  EXPECT_EQ(lab.lid("c").value() % 4, 0u);
  expect_all_reach_all(lab);
  const auto before = lab.running.count("c", fabric::NodeCounter::kNoQueuePair);
  for (std::uint16_t bits = 0; bits < 4; ++bits) {
    const Lid lid{static_cast<std::uint16_t>(lab.lid("c").value() + bits)};
    lab.running.inject("a", {.slid = lab.lid("a"), .dlid = lid});
  }
  EXPECT_EQ(lab.running.count("c", fabric::NodeCounter::kNoQueuePair), before + 4);
}

TEST(Sweep, SaysWhyAnEngineWouldNotDo) {
  const auto ring = fabric::generate_torus({5}, 1, "ring");
  ManagedLab lab(*ring, ring->nodes[5].name, {.engine = Engine::kFatTree});
  const SweepReport& report = lab.sweep();
  EXPECT_THAT(report.engine_refused, HasSubstr("no fat tree"));
  EXPECT_EQ(report.engine, Engine::kMinHop);
  expect_all_reach_all(lab);
}

TEST(Sweep, BringsUpATreeOfHundreds) {
  const auto tree = fabric::generate_fat_tree({18, 36}, "tree");
  ManagedLab lab(*tree, tree->nodes.back().name, {.engine = Engine::kFatTree});
  const SweepReport& report = lab.sweep();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.engine_refused, IsEmpty());
  EXPECT_EQ(report.switches, 54u);
  EXPECT_EQ(report.adapters, 648u);
  EXPECT_EQ(lab.active_links(), lab.running.fabric.link_count());
  EXPECT_TRUE(lab.reaches(tree->nodes[54].name, tree->nodes.back().name));
  // Nodes answer in another order now; nothing depends on that.
  EXPECT_EQ(lab.sweep().writes, 0u);
}

TEST(Sweep, BringsUpWhateverIsConnected) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const fabric::Lab lab = *fabric::some_lab(random);
    std::string host;
    for (const fabric::LabNode& node : lab.nodes) {
      if (node.kind == fabric::NodeKind::kChannelAdapter) host = node.name;
    }
    ManagedLab managed(lab, host);
    const SweepReport& report = managed.sweep();
    EXPECT_EQ(report.failures, 0u) << report.problems.back();
    EXPECT_EQ(managed.active_links(), report.links);
    for (const auto& [name, found] : managed.running.discover())
      EXPECT_NE(managed.lid(found.description), Lid{}) << found.description;
    if (::testing::Test::HasFailure()) return;
  }
}

// What a link does is told by a trap, and where that is lost, found within look_every.
// A link that is up leads to somebody, who may be busy for a moment.
TEST(Sweep, AsksAgainBeforeItForgetsWhoDoesNotAnswer) {
  for (const std::string cable : {"trunk", "d:1"}) {
    SCOPED_TRACE(cable);
    ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.look_every = 1000s});
    lab.sweep();
    link::Link& link = lab.running.fabric.link(*lab.running.fabric.find_link(cable));
    const auto lose = [&](double part) { link.set_emulation({.loss = part}, lab.running.now); };
    lose(1);
    EXPECT_THAT(lab.sweep().problems, Not(IsEmpty()));
    lose(0);
    EXPECT_EQ(lab.active_links(), 5u);
    expect_all_reach_all(lab);
    lab.run_for(10s);
    EXPECT_THAT(lab.manager->report().problems, IsEmpty());
    // Who never answers again is not there, whatever the link says.
    lose(1);
    lab.sweep();
    lab.run_for(10s);
    EXPECT_LT(lab.manager->subnet().nodes.size(), 6u);
    lose(0);
    EXPECT_FALSE(lab.reaches("a", "d"));
  }
}

// Whenever the WAN, say, begins to carry again what the manager writes.
TEST(Sweep, BringsALinkUpWhenItIsKnownToBeRightBeyondIt) {
  for (Duration lost = 0ms; lost < 6s; lost += 100ms) {
    SCOPED_TRACE(lost / 1ms);
    ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
    link::Link& trunk = lab.running.fabric.link(*lab.running.fabric.find_link("trunk"));
    // When all is found, and before anything is written.
    bool found = false;
    lab.manager->on_event([&](const ManagerEvent& event) {
      if (event.kind != ManagerEvent::Kind::kLink || std::exchange(found, true)) return;
      trunk.set_emulation({.loss = 1}, lab.running.now);
    });
    lab.manager->sweep();
    lab.run_for(lost);
    ASSERT_TRUE(found);
    trunk.set_emulation({}, lab.running.now);
    for (int step = 0; step < 200; ++step) {
      if (lab.active_links() == 5) expect_all_reach_all(lab);
      if (::testing::Test::HasFailure()) return;
      lab.run_for(50ms);
    }
    EXPECT_EQ(lab.active_links(), 5u);
  }
}

TEST(Sweep, ComesByItselfWhenALinkHasChanged) {
  for (const bool traps : {true, false}) {
    SCOPED_TRACE(traps);
    ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.look_every = 10s});
    lab.sweep();
    lab.run_for(1s);
    const std::uint64_t before = lab.manager->sweeps();
    const std::size_t cable = *lab.running.fabric.find_link("d:1");
    // The way of the trap of the switch next to it.
    const std::size_t trunk = *lab.running.fabric.find_link("trunk");
    if (!traps) lab.running.fabric.link(trunk).set_emulation({.loss = 1}, lab.running.now);
    lab.running.fabric.link(cable).set_plugged(false, lab.running.now);
    lab.run_for(10ms);
    lab.running.fabric.link(cable).set_plugged(true, lab.running.now);
    lab.run_for(1s);
    if (!traps) {
      EXPECT_EQ(lab.manager->sweeps(), before);
      lab.running.fabric.link(trunk).set_emulation({}, lab.running.now);
    } else {
      EXPECT_GT(lab.manager->sweeps(), before);
      EXPECT_GT(lab.manager->smps().traps, 0u);
    }
    lab.run_for(12s);
    EXPECT_GT(lab.manager->sweeps(), before);
    EXPECT_EQ(lab.active_links(), 5u);
    expect_all_reach_all(lab);
    // And then it rests.
    lab.run_for(60s);
    const std::uint64_t after = lab.manager->sweeps();
    lab.run_for(60s);
    EXPECT_EQ(lab.manager->sweeps(), after);
  }
}

// Links come and go, and lose a part of what they carry, management packets too; when that is over,
// everything is as if nothing had been.
TEST(Sweep, EndsWithAWholeFabricWhateverHappensMeanwhile) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const fabric::Lab lab = *fabric::some_lab(random);
    std::string host;
    for (const fabric::LabNode& node : lab.nodes) {
      if (node.kind == fabric::NodeKind::kChannelAdapter) host = node.name;
    }
    ManagedLab managed(lab, host);
    fabric::Fabric& fabric = managed.running.fabric;
    managed.manager->sweep();
    for (int event = 0; event < 30; ++event) {
      link::Link& cable = fabric.link(random.below(fabric.link_count()));
      if (random.chance(0.3)) {
        cable.set_emulation({.loss = 0.2, .seed = random.next()}, managed.running.now);
      } else {
        cable.set_plugged(!cable.plugged(), managed.running.now);
      }
      managed.run_for(Duration(static_cast<std::int64_t>(random.below(3'000'000'000))));
    }
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
      fabric.link(i).set_emulation({}, managed.running.now);
      if (!fabric.link(i).plugged()) fabric.link(i).set_plugged(true, managed.running.now);
    }
    managed.run_for(60s);
    EXPECT_THAT(managed.manager->report().problems, IsEmpty());
    EXPECT_EQ(managed.active_links(), fabric.link_count());
    expect_all_reach_all(managed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::sm
