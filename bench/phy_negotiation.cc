// SPDX-License-Identifier: Apache-2.0
// How much faster than real time two ports negotiate DDR over a cable of four lanes with nine
// transmit and five receive configurations each; and how long ten thousand such links take, all at
// once. Each has a cable of its own, of which it knows nothing: everything that the analytic
// channel says is computed here, from 2 m, over which all pairs of configurations work, to 11 m,
// over which hardly any does. The time of the links is virtual, one thread does it all.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "phy/ddr_link/ddr_link.h"

namespace {

using namespace weft;
using namespace weft::phy;

constexpr std::size_t kTransmit = 9, kReceive = 5;
constexpr std::size_t kSingleRuns = 51;
constexpr std::size_t kLinks = 10'000;
// By then a link is up, whatever its cable; most take some five seconds.
constexpr Time kEnd = Time{} + 60s;
constexpr double kLeastRatio = 20;
constexpr double kMostSeconds = 60;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::unique_ptr<DdrLink> make_link(std::uint64_t seed) {
  DdrLinkOptions options;
  for (std::uint32_t side = 0; side < 2; ++side) {
    options.settings[side] = {default_transmit_settings(kTransmit),
                              default_receive_settings(kReceive)};
    options.ends[side].first_id = (side + 1) << 24;
  }
  options.channel.length_m = 2 + static_cast<double>(seed % 91) / 10;
  options.channel.seed = seed;
  options.seed = seed;
  auto link = DdrLink::make(std::move(options));
  if (!link) {
    fmt::print(stderr, "{}\n", link.error().message);
    std::exit(1);
  }
  return *std::move(link);
}

struct Outcome {
  double real_s = 0;  // of this machine
  double link_s = 0;  // and of the link
  std::size_t ddr = 0;
  std::size_t sdr = 0;
  std::uint64_t turns = 0;
};

// All of them from the same time on, until each is up at the speed that it keeps.
Outcome negotiate(const std::vector<std::unique_ptr<DdrLink>>& links) {
  using Due = std::pair<Time, std::size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  const auto queue = [&](std::size_t i) {
    const auto next = links[i]->deadline();
    if (!links[i]->up() && next && *next < kEnd) due.emplace(*next, i);
  };
  for (std::size_t i = 0; i < links.size(); ++i) {
    links[i]->start(Time{});
    queue(i);
  }
  while (!due.empty()) {
    const auto [now, i] = due.top();
    due.pop();
    links[i]->run(now);
    outcome.link_s = std::chrono::duration<double>(now - Time{}).count();
    ++outcome.turns;
    queue(i);
  }
  outcome.real_s = seconds_since(start);
  for (const auto& link : links) {
    outcome.ddr += link->up() == LinkSpeed::kDdr ? 1 : 0;
    outcome.sdr += link->up() == LinkSpeed::kSdr ? 1 : 0;
  }
  return outcome;
}

std::vector<std::unique_ptr<DdrLink>> make_links(std::uint64_t first_seed, std::size_t count) {
  std::vector<std::unique_ptr<DdrLink>> links;
  for (std::size_t i = 0; i < count; ++i)
    links.push_back(make_link(first_seed + i));
  return links;
}

// The one of which half do better.
Outcome median_of_single_links() {
  (void)negotiate(make_links(0, 1));  // what is computed once in a process
  std::vector<Outcome> runs;
  for (std::size_t i = 0; i < kSingleRuns; ++i)
    runs.push_back(negotiate(make_links(1 + i * 7, 1)));
  std::ranges::sort(runs, {}, [](const Outcome& run) { return run.link_s / run.real_s; });
  return runs[runs.size() / 2];
}

bool goal(const char* what, bool met) {
  fmt::print("  {}: {}\n", what, met ? "met" : "MISSED");
  return met;
}

}  // namespace

int main() {
  const Outcome one = median_of_single_links();
  const double ratio = one.link_s / one.real_s;
  fmt::print("one link of 4 lanes, {} x {} configurations: {:.3f} s of the link in {:.2f} ms\n",
             kTransmit, kReceive, one.link_s, one.real_s * 1e3);
  const Outcome many = negotiate(make_links(1, kLinks));
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print(
      "{} links at once, each with its cable: {:.2f} s, {} turns, {} at DDR and {} at SDR, "
      "{} MiB\n",
      kLinks, many.real_s, many.turns, many.ddr, many.sdr, used.ru_maxrss / 1024);
  const bool all_up = goal("every link is up", many.ddr + many.sdr == kLinks);
  const bool fast = goal("link time / real time >= 20", ratio >= kLeastRatio);
  const bool soon = goal("seconds for 10,000 links <= 60", many.real_s <= kMostSeconds);
  fmt::print("result: link time / real time, analytic channel = {:.0f}\n", ratio);
  fmt::print("result: seconds for 10,000 links, each with its cable (goal 60) = {:.1f}\n",
             many.real_s);
  return all_up && fast && soon ? 0 : 1;
}
