// SPDX-License-Identifier: Apache-2.0
// How much faster than real time two ports negotiate DDR over a link of four lanes with nine
// transmit and five receive configurations, and how long ten thousand such links take, all at once.
// The channel is a formula; the time of the links is virtual.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/random.h"
#include "world.h"

namespace {

using namespace weft;
using namespace weft::phy;
using test::World;
using test::WorldOptions;

constexpr int kSingleRuns = 51;
constexpr std::size_t kLinks = 10'000;

// A loss in dB that the boost of both ends has to make up for, give or take what each lane adds.
// The eye closes a quarter for each dB that is missed by.
test::Channel lossy_channel(Random random) {
  const double loss = 4.0 + static_cast<double>(random.below(1600)) / 100;
  return [loss](unsigned, unsigned transmit, unsigned receive, unsigned lane) {
    const double boost = 0.8 * transmit + 1.5 * receive;
    const double eye = 1.0 - 0.25 * std::abs(loss + 0.1 * lane - boost);
    // Of the bits of a dwell, as the error rate of a Gaussian eye has them.
    const double rate = 0.5 * std::erfc(std::max(eye, 0.0) * 7 / std::sqrt(2.0));
    return LaneMeasurement{eye > 0, static_cast<std::uint64_t>(rate * 50e-3 * 5e9), eye};
  };
}

WorldOptions nine_by_five(std::uint64_t seed) {
  WorldOptions options;
  for (NegotiationOptions& node : options.nodes) {
    node.lanes = 4;
    node.transmit_configurations = 9;
    node.receive_configurations = 5;
  }
  options.channel = lossy_channel(Random(seed));
  return options;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Single {
  double real = 0;  // seconds of this machine
  double link = 0;  // and of the link
};

Single one_negotiation(std::uint64_t seed) {
  World world(nine_by_five(seed));
  world.keep_flow(false);
  const auto start = std::chrono::steady_clock::now();
  world.start_both();
  while (world.node(0).negotiating() || world.node(1).negotiating())
    world.step();
  return {seconds_since(start), std::chrono::duration<double>(world.now() - Time{}).count()};
}

struct Many {
  double real = 0;
  std::size_t ddr = 0;
  std::uint64_t steps = 0;
};

Many many_negotiations() {
  std::vector<std::unique_ptr<World>> worlds;
  for (std::size_t i = 0; i < kLinks; ++i) {
    worlds.push_back(std::make_unique<World>(nine_by_five(i)));
    worlds.back()->keep_flow(false);
  }
  using Due = std::pair<Time, std::size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  Many many;
  const auto start = std::chrono::steady_clock::now();
  const auto queue = [&](std::size_t i) {
    if (const auto next = worlds[i]->next()) due.push({*next, i});
  };
  for (std::size_t i = 0; i < kLinks; ++i) {
    worlds[i]->start_both();
    queue(i);
  }
  while (!due.empty()) {
    const std::size_t i = due.top().second;
    due.pop();
    worlds[i]->step();
    ++many.steps;
    queue(i);
  }
  many.real = seconds_since(start);
  for (const auto& world : worlds) {
    if (!world->settled()) throw std::runtime_error("a link has not settled");
    if (world->speed(0) == LinkSpeed::kDdr) ++many.ddr;
  }
  return many;
}

}  // namespace

int main() {
  std::vector<Single> runs;
  for (std::uint64_t seed = 0; seed < kSingleRuns; ++seed)
    runs.push_back(one_negotiation(seed));
  std::sort(runs.begin(), runs.end(),
            [](const Single& a, const Single& b) { return a.real / a.link < b.real / b.link; });
  const Single& median = runs[runs.size() / 2];
  fmt::print("one link of 4 lanes, 9 x 5 configurations: {:.3f} s of the link in {:.0f} us\n",
             median.link, median.real * 1e6);
  const Many many = many_negotiations();
  fmt::print("{} links at once: {:.2f} s, {} steps, {} at DDR and {} at SDR\n", kLinks, many.real,
             many.steps, many.ddr, kLinks - many.ddr);
  fmt::print("result: link time / real time = {:.0f}\n", median.link / median.real);
  fmt::print("result: seconds for 10,000 links = {:.2f}\n", many.real);
}
