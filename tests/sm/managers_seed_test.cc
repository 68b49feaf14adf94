// SPDX-License-Identifier: Apache-2.0
// Several managers on random fabrics, while links, packets and managers come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "managed_lab.h"
#include "sim/seeds.h"
#include "sm/lid_moves.h"
#include "some_lab.h"

namespace weft::sm {
namespace {

using ::testing::IsEmpty;
using State = wire::SmState;

// Which things are connected with which.
class SeedGroups {
 public:
  explicit SeedGroups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t i) const {
    while (parent_[i] != i)
      i = parent_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<std::size_t> parent_;
};

// The lab's nodes by the links that `counts` holds for. All of its adapters have one port.
template <class Predicate>
SeedGroups groups_of(fabric::Fabric& fabric, Predicate counts) {
  SeedGroups groups(fabric.lab().nodes.size());
  for (std::size_t link = 0; link < fabric.link_count(); ++link) {
    const auto& ends = fabric.lab().links[link].ends;
    if (counts(link)) groups.join(ends[0].node, ends[1].node);
  }
  return groups;
}

// No two ports between which packets could travel have the same LID.
void expect_no_duplicates(ManagedLab& lab) {
  fabric::Fabric& fabric = lab.running.fabric;
  const SeedGroups groups =
      groups_of(fabric, [&](std::size_t link) { return lab.is_active(link); });
  std::map<std::pair<std::size_t, std::uint16_t>, std::size_t> owners;
  for (std::size_t i = 0; i < fabric.node_count(); ++i) {
    const auto& node = fabric.lab().nodes[i];
    const Lid lid = lab.lid(node.name);
    if (lid == Lid{}) continue;
    const auto [owner, is_first] = owners.try_emplace({groups.of(i), lid.value()}, i);
    EXPECT_TRUE(is_first) << "LID " << lid.value() << ": " << node.name << " and "
                          << fabric.lab().nodes[owner->second].name;
  }
}

std::vector<ManagedLab::Place> some_places(const fabric::Lab& lab, Random& random) {
  std::vector<std::string> nodes;
  for (const fabric::LabNode& node : lab.nodes)
    nodes.push_back(node.name);
  std::vector<ManagedLab::Place> places;
  const std::uint64_t count = std::min<std::uint64_t>(random.between(2, 4), nodes.size());
  while (places.size() < count) {
    const auto at = static_cast<std::ptrdiff_t>(random.below(nodes.size()));
    const auto priority = static_cast<std::uint8_t>(random.below(3));
    places.push_back({.node = nodes[static_cast<std::size_t>(at)],
                      .options = {.mastership = {.priority = priority}}});
    nodes.erase(nodes.begin() + at);
  }
  return places;
}

void start(ManagedLab& lab, std::size_t i) {
  lab.start(i);
  lab.managers[i]->sweep();
}

void something_happens(ManagedLab& lab, Random& random) {
  fabric::Fabric& fabric = lab.running.fabric;
  link::Link& cable = fabric.link(random.below(fabric.link_count()));
  const auto i = static_cast<std::size_t>(random.below(lab.managers.size()));
  switch (random.below(5)) {
    case 0:
    case 1:
      cable.set_plugged(!cable.plugged(), lab.running.now);
      break;
    case 2:
      // Who does not answer any of four questions counts as dead. So much loss that it happens
      // often would make masters that do not know of each other.
      cable.set_emulation({.loss = 0.05, .seed = random.next()}, lab.running.now);
      break;
    default:
      if (lab.managers[i]) {
        lab.stop(i);
      } else {
        start(lab, i);
      }
      break;
  }
}

// The highest of those that are there, in each part of the lab that is connected, is its master,
// and everybody else stands by; one without a link looks on. What has a master is up.
void expect_one_master_each(ManagedLab& lab) {
  fabric::Fabric& fabric = lab.running.fabric;
  const SeedGroups groups =
      groups_of(fabric, [&](std::size_t link) { return fabric.link(link).plugged(); });
  std::map<std::string, std::size_t> index;
  std::vector<std::size_t> size(fabric.lab().nodes.size());
  for (std::size_t i = 0; i < fabric.lab().nodes.size(); ++i) {
    index[fabric.lab().nodes[i].name] = i;
    ++size[groups.of(i)];
  }
  std::map<std::size_t, std::size_t> highest;
  const auto rank = [&](std::size_t i) {
    const fabric::Node& node = *fabric.find_node(lab.place(i));
    const std::uint64_t guid = node.port(lab.own_port(i)).guid().value();
    return std::pair(lab.options(i).mastership.priority, ~guid);
  };
  for (std::size_t i = 0; i < lab.managers.size(); ++i) {
    if (!lab.managers[i]) continue;
    const auto [best, is_first] = highest.try_emplace(groups.of(index[lab.place(i)]), i);
    if (rank(i) > rank(best->second)) best->second = i;
  }
  for (std::size_t i = 0; i < lab.managers.size(); ++i) {
    if (!lab.managers[i]) continue;
    const std::size_t group = groups.of(index[lab.place(i)]);
    const bool is_alone = size[group] == 1 && lab.own_port(i) != 0;
    State expected = is_alone ? State::kDiscovering : State::kStandby;
    if (!is_alone && highest[group] == i) expected = State::kMaster;
    EXPECT_EQ(lab.state(i), expected) << lab.place(i);
    if (expected != State::kMaster) continue;
    EXPECT_THAT(lab.managers[i]->report().problems, IsEmpty()) << lab.place(i);
  }
  for (std::size_t link = 0; link < fabric.link_count(); ++link) {
    const bool is_managed = highest.contains(groups.of(fabric.lab().links[link].ends[0].node));
    if (!is_managed || !fabric.link(link).plugged()) continue;
    EXPECT_TRUE(lab.is_active(link)) << fabric.lab().link_name(fabric.lab().links[link]);
  }
}

TEST(ManagersSeeds, EndWithOneMasterForEachPartWhateverHappensMeanwhile) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const fabric::Lab model = *fabric::some_lab(random);
    ManagedLab lab(model, some_places(model, random));
    fabric::Fabric& fabric = lab.running.fabric;
    lab.watch = [&] { expect_no_duplicates(lab); };
    for (const auto& manager : lab.managers)
      manager->sweep();
    for (int event = 0; event < 25; ++event) {
      something_happens(lab, random);
      lab.run_for(Duration(static_cast<std::int64_t>(random.below(6'000'000'000))));
      if (::testing::Test::HasFailure()) return;
    }
    const bool heals = random.chance(0.7);
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
      fabric.link(i).set_emulation({}, lab.running.now);
      if (heals && !fabric.link(i).plugged()) fabric.link(i).set_plugged(true, lab.running.now);
    }
    lab.run_for(120s);
    expect_one_master_each(lab);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::sm
