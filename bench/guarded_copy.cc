// SPDX-License-Identifier: Apache-2.0
// Copies that survive unmapped memory beside memcpy, and what a guarded call costs, in one run.
//
// Alternatives take turns, a fraction of a millisecond each, so that a change of clock or a busy
// neighbour meets them all; a figure is the median of its turns. Data is in the cache.
#include "host/guarded_copy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using namespace weft;

constexpr int kTurns = 401;
constexpr double kTurnNs = 100'000;

void keep(const void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

template <class Body>
double time_ns(const Body& body, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    body(i);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / calls;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Nanoseconds of one call of each.
template <class First, class Second>
std::array<double, 2> compare(const First& first, const Second& second) {
  std::array<std::vector<double>, 2> turns;
  const int calls = std::max(1, static_cast<int>(kTurnNs / time_ns(first, 1000)));
  for (int turn = 0; turn < kTurns; ++turn) {
    turns[0].push_back(time_ns(first, calls));
    turns[1].push_back(time_ns(second, calls));
  }
  return {median(turns[0]), median(turns[1])};
}

bool goal(const char* what, double measured, double most, const char* unit) {
  const bool met = measured <= most;
  std::printf("  %-44s %6.2f%s  goal <= %.2f  %s\n", what, measured, unit, most,
              met ? "met" : "MISSED");
  std::printf("result: %s = %.2f\n", what, measured);
  return met;
}

bool copies(std::size_t size) {
  // Packets arrive at any place of a buffer and go to any place of memory.
  constexpr std::array<std::size_t, 4> kOffsets{0, 12, 28, 40};
  std::vector<std::byte> from(size + 64);
  std::vector<std::byte> to(size + 64);
  const auto run = [&](auto&& copy) {
    return [&, copy](int i) {
      const std::size_t offset = kOffsets[static_cast<std::size_t>(i) % kOffsets.size()];
      copy(to.data() + (64 - offset) % 64, from.data() + offset, size);
      keep(to.data());
    };
  };
  void* (*volatile standard)(void*, const void*, std::size_t) = std::memcpy;
  const auto ns = compare(
      run([&](void* t, const void* f, std::size_t n) { standard(t, f, n); }),
      run([](void* t, const void* f, std::size_t n) { (void)host::guarded_copy(t, f, n); }));
  std::printf("%zu bytes: memcpy %.1f ns, guarded %.1f ns\n", size, ns[0], ns[1]);
  if (size < 256) return true;
  char what[64];
  std::snprintf(what, sizeof what, "guarded copy / memcpy in time, %zu bytes", size);
  return goal(what, ns[1] / ns[0], 1.05, "");
}

bool calls() {
  void (*volatile body)(void*) = [](void*) {};
  const auto ns =
      compare([&](int) { body(nullptr); }, [&](int) { (void)host::guarded(body, nullptr); });
  return goal("a guarded call beyond a plain one", ns[1] - ns[0], 20, " ns");
}

}  // namespace

int main() {
  bool met = true;
  for (const std::size_t size : {16u, 64u, 256u, 1024u, 2048u, 4096u, 16'384u, 65'536u})
    met &= copies(size);
  met &= calls();
  return met ? 0 : 1;
}
