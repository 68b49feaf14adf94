// SPDX-License-Identifier: Apache-2.0
// Whole fabrics in virtual time, with links that go down and come back and lose packets, as each
// seed likes.
#include <gtest/gtest.h>

#include "running_lab.h"
#include "sim/seeds.h"
#include "some_lab.h"

namespace weft::fabric {
namespace {

class Scene {
 public:
  explicit Scene(std::uint64_t seed) : random_(seed), lab_(*some_lab(random_)) {
    lab_.bring_up();
    for (const auto& [guid, node] : lab_.nodes) {
      if (node.info.type == wire::NodeType::kChannelAdapter) hosts_.push_back(&node);
    }
  }

  void act() {
    const std::size_t link = random_.below(lab_.fabric.link_count());
    link::Link& cable = lab_.fabric.link(link);
    const auto number = random_.below(100);
    if (number < 3) {
      cable.set_plugged(!cable.plugged(), lab_.now);
      lab_.settle();
    } else if (number < 6) {
      cable.set_emulation(some_emulation(random_), lab_.now);
    } else if (number < 16) {
      lab_.run_for(Duration(static_cast<std::int64_t>(random_.below(1'000'000))));
    } else {
      send();
    }
  }

  // Time for all that is on its way to arrive or to be given up.
  void end() {
    for (std::size_t i = 0; i < lab_.fabric.link_count(); ++i) {
      lab_.fabric.link(i).set_emulation({}, lab_.now);
      lab_.fabric.link(i).set_plugged(false, lab_.now);
    }
    lab_.run_for(60s);
  }

  void check() {
    EXPECT_EQ(lab_.fabric.packets_in_use(), 0u);
    const Ends ends = ends_of(lab_.fabric);
    // Management packets are lost and doubled as well, so at least as many as were sent; where
    // there are none, exactly.
    EXPECT_GE(ends.arrived + ends.dropped, sent_);
    EXPECT_LE(ends.arrived, sent_ + ends.created);
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  RunningLab& lab() { return lab_; }

 private:
  void send() {
    const auto& from = *hosts_[random_.below(hosts_.size())];
    const auto& to = *hosts_[random_.below(hosts_.size())];
    lab_.inject(from.description, {.slid = from.lid, .dlid = to.lid});
    ++sent_;
  }

  Random random_;
  RunningLab lab_;
  std::vector<const RunningLab::Found*> hosts_;
  std::uint64_t sent_ = 0;
};

std::string fabric_replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

TEST(FabricSimulation, LosesNoPacketWithoutACountedReason) {
  for (const std::uint64_t seed : sim::seeds(60)) {
    SCOPED_TRACE(fabric_replay(seed));
    Scene scene(seed);
    for (int action = 0; action < 300; ++action)
      scene.act();
    scene.end();
    scene.check();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(FabricSimulation, DeliversEveryPacketOnLinksThatStayUp) {
  for (const std::uint64_t seed : sim::seeds(60)) {
    SCOPED_TRACE(fabric_replay(seed));
    Random random(seed);
    RunningLab lab(*some_lab(random));
    lab.bring_up();
    std::vector<const RunningLab::Found*> hosts;
    for (const auto& [guid, node] : lab.nodes) {
      if (node.info.type == wire::NodeType::kChannelAdapter) hosts.push_back(&node);
    }
    std::map<std::string, std::uint64_t> expected;
    for (int packet = 0; packet < 200; ++packet) {
      const auto& from = *hosts[random.below(hosts.size())];
      const auto& to = *hosts[random.below(hosts.size())];
      lab.inject(from.description, {.slid = from.lid, .dlid = to.lid});
      if (&from != &to) ++expected[to.description];
    }
    for (const auto& [name, packets] : expected)
      EXPECT_EQ(lab.count(name, NodeCounter::kNoQueuePair), packets) << name;
    EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
    if (::testing::Test::HasFailure()) return;
  }
}

// Two runs of one seed are the same packet by packet.
TEST(FabricSimulation, RunsTheSameWayFromTheSameSeed) {
  for (const std::uint64_t seed : sim::seeds(20)) {
    SCOPED_TRACE(fabric_replay(seed));
    std::array<Ends, 2> ends;
    for (Ends& each : ends) {
      Scene scene(seed);
      for (int action = 0; action < 150; ++action)
        scene.act();
      scene.end();
      each = ends_of(scene.lab().fabric);
    }
    EXPECT_EQ(ends[0].arrived, ends[1].arrived);
    EXPECT_EQ(ends[0].dropped, ends[1].dropped);
    EXPECT_EQ(ends[0].created, ends[1].created);
  }
}

}  // namespace
}  // namespace weft::fabric
