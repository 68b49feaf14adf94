// SPDX-License-Identifier: Apache-2.0
// How far the first two processors are from each other: the time in which a line of memory goes
// from one to the other and back. Processors of a virtual machine may be moved by its host at any
// time, from places that share a cache to others, and whatever two processes exchange then costs
// another price.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

constexpr unsigned kTrips = 20'000;
constexpr std::size_t kTurns = 9;  // the first ones, with the processors still asleep, do not count

alignas(64) std::atomic<unsigned> line{0};

bool pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

void await(unsigned value) {
  while (line.load(std::memory_order_acquire) != value) {
  }
}

double turn_ns(unsigned first) {
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = first; i < first + kTrips; ++i) {
    line.store(2 * i + 1, std::memory_order_release);
    await(2 * i + 2);
  }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / kTrips;
}

}  // namespace

int main() {
  if (!pin(1) || !pin(0)) {
    std::fputs("processor_distance: needs processors 0 and 1 to run on\n", stderr);
    return 1;
  }
  std::thread other([] {
    pin(1);
    for (unsigned i = 0; i < kTrips * kTurns; ++i) {
      await(2 * i + 1);
      line.store(2 * i + 2, std::memory_order_release);
    }
  });
  std::array<double, kTurns> turns;
  for (unsigned i = 0; i < kTurns; ++i)
    turns[i] = turn_ns(i * kTrips);
  other.join();
  std::nth_element(turns.begin(), turns.begin() + kTurns / 2, turns.end());
  fmt::print("{{\"round_trip_ns\": {:.0f}}}\n", turns[kTurns / 2]);
}
