// SPDX-License-Identifier: Apache-2.0
// Every way in which a cable can lose MADs, in both directions, from the first one to the last:
// from each state of the two ports and the cable both the world where the next MAD arrives and the
// one where it is lost are gone into, and a state that was reached before is not gone into again.
// There is no bound on how many are lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <unordered_map>

#include "world.h"

namespace weft::phy {
namespace {

using test::World;
using test::WorldOptions;

struct Explored {
  std::size_t states = 0;  // of the world, where a MAD is about to arrive or be lost
  std::size_t ends = 0;    // different ones
  double schedules = 0;    // subsets of MADs lost, each a way from the start to an end
  bool endless = false;    // a way that leads to where it was before
  Duration longest{};      // until both ends have ended and all is quiet
  Duration longest_apart{};
  Duration longest_alone{};
  std::size_t ended_ddr = 0;
  std::size_t ended_sdr = 0;
  std::string failure;  // of the first end that is wrong
};

class Explorer {
 public:
  explicit Explorer(const WorldOptions& options) : world_(options) {
    world_.keep_flow(false);
    world_.start_both();
    explored_.schedules = visit();
    explored_.longest_apart = world_.longest_apart();
    explored_.longest_alone = world_.longest_alone();
    explored_.states = ways_.size();
  }
  [[nodiscard]] const Explored& explored() const { return explored_; }

 private:
  struct Hash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& key) const {
      return key.first;
    }
  };

  // From the world as it is; how many ways lead on from there.
  double visit() {
    while (world_.next() && !world_.arrival_is_next())
      world_.step();
    if (!world_.next()) return end();
    const auto key = world_.digest();
    const auto [found, is_new] = ways_.try_emplace(key, std::nullopt);
    if (!is_new) {
      if (!found->second) explored_.endless = true;
      return found->second.value_or(0);
    }
    const World::State here = world_.save();
    world_.step();
    double ways = visit();
    world_.load(here);
    world_.lose_next();
    ways += visit();
    ways_[key] = ways;
    return ways;
  }

  double end() {
    explored_.longest = std::max(explored_.longest, world_.now() - Time{});
    const auto [found, is_new] = ends_.try_emplace(world_.digest(), 1);
    if (!is_new) return 1;
    ++explored_.ends;
    const bool at_ddr = world_.node(0).state() == NegotiationState::kDdr;
    ++(at_ddr ? explored_.ended_ddr : explored_.ended_sdr);
    if (!world_.settled()) fail_with("one has not ended");
    if (world_.node(0).result()->speed != world_.node(1).result()->speed ||
        world_.speed(0) != world_.speed(1) || world_.node(0).state() != world_.node(1).state()) {
      fail_with("they differ in speed");
    }
    return 1;
  }

  void fail_with(const char* what) {
    if (!explored_.failure.empty()) return;
    explored_.failure = what;
    for (unsigned n = 0; n < 2; ++n)
      explored_.failure += " / " + std::string(state_name(world_.node(n).state()));
  }

  World world_;
  Explored explored_;
  std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, std::optional<double>, Hash> ways_;
  std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, int, Hash> ends_;
};

WorldOptions short_sweeps() {
  WorldOptions options;
  for (NegotiationOptions& node : options.nodes) {
    node.lanes = 1;
    node.transmit_configurations = 2;
    node.receive_configurations = 1;
  }
  return options;
}

Duration sweep_of(const WorldOptions& options) {
  const NegotiationOptions& node = options.nodes[0];
  return agree_sweep(node, options.nodes[1].transmit_configurations,
                     options.nodes[1].iteration_ms())
             .iteration *
         std::max(node.transmit_configurations, options.nodes[1].transmit_configurations);
}

Explored explore(const char* name, const WorldOptions& options) {
  const Explored explored = Explorer(options).explored();
  std::printf(
      "%-34s %7zu states, %9.3g schedules, %4zu ends (%zu at DDR, %zu at SDR), "
      "longest %.0f ms, apart %.1f ms, alone %.1f ms\n",
      name, explored.states, explored.schedules, explored.ends, explored.ended_ddr,
      explored.ended_sdr, static_cast<double>(explored.longest.count()) / 1e6,
      static_cast<double>(explored.longest_apart.count()) / 1e6,
      static_cast<double>(explored.longest_alone.count()) / 1e6);
  EXPECT_FALSE(explored.endless);
  EXPECT_EQ(explored.failure, "");
  // One end may have to notice that the link is gone, and the other to bring it up.
  const Duration slack = 2 * (options.train + options.notice);
  EXPECT_LE(explored.longest_apart, options.nodes[0].ddr_time_out + slack);
  EXPECT_LE(explored.longest_alone, sweep_of(options));
  return explored;
}

TEST(LossExploration, both_ends_end_at_one_speed_whatever_is_lost) {
  const Explored explored = explore("auto, auto", short_sweeps());
  EXPECT_GT(explored.states, 1000U);
  EXPECT_GT(explored.schedules, 1e9);
  EXPECT_GT(explored.ended_ddr, 0U);
  EXPECT_GT(explored.ended_sdr, 0U);
}

TEST(LossExploration, holds_without_a_sweep) {
  WorldOptions options = short_sweeps();
  options.nodes[0].no_sweep = true;
  const Explored explored = explore("NoSweep, auto", options);
  EXPECT_GT(explored.ended_ddr, 0U);
  EXPECT_EQ(explored.longest_alone, 0ns);
}

TEST(LossExploration, holds_when_no_settings_work) {
  WorldOptions options = short_sweeps();
  options.channel = test::broken_channel;
  EXPECT_EQ(explore("auto, auto; no settings work", options).ended_ddr, 0U);
}

TEST(LossExploration, holds_when_the_link_does_not_train_at_ddr) {
  WorldOptions options = short_sweeps();
  options.trains_at_ddr = false;
  EXPECT_EQ(explore("auto, auto; DDR does not train", options).ended_ddr, 0U);
}

TEST(LossExploration, holds_with_a_peer_that_is_sdr_only) {
  WorldOptions options = short_sweeps();
  options.nodes[1].mode = SpeedMode::kSdrOnly;
  EXPECT_EQ(explore("auto, SDR only", options).ended_ddr, 0U);
}

TEST(LossExploration, holds_between_ports_that_are_told_at_different_times) {
  WorldOptions options = short_sweeps();
  options.late[1] = 1300us;
  options.delay = 70us;
  EXPECT_GT(explore("auto, auto; one told 1.3 ms late", options).ended_ddr, 0U);
}

}  // namespace
}  // namespace weft::phy
