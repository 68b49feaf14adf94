// SPDX-License-Identifier: Apache-2.0
// Programs and networks as a seed likes them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "rc_world.h"
#include "sim/seeds.h"

namespace weft::sim::test {

inline std::string replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

inline double up_to(Random& random, double most) {
  return random.chance(0.3) ? 0.0 : most * static_cast<double>(random.below(1001)) / 1000.0;
}

inline Duration between(Random& random, std::uint64_t least_ns, std::uint64_t most_ns) {
  return Duration(static_cast<std::int64_t>(random.between(least_ns, most_ns)));
}

inline Faults some_faults(Random& random) {
  return {.loss = up_to(random, 0.2),
          .duplicate = up_to(random, 0.2),
          .reorder = up_to(random, 0.2),
          .corrupt = up_to(random, 0.05),
          .delay = between(random, 1'000, 500'000),
          .jitter = between(random, 0, 100'000),
          .reorder_delay = between(random, 1'000, 3'000'000),
          .rate_bytes_per_s = random.between(20'000'000, 5'000'000'000)};
}

// Any two programs that the seed makes.
inline WorldOptions some_world(std::uint64_t seed, bool extensions) {
  Random random(seed);
  constexpr std::uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};
  const std::uint32_t mtu = kMtus[random.below(5)];
  WorldOptions options{.plan = {.connections = random.chance(0.5) ? 1 : random.between(2, 5),
                                .messages = random.between(1, 80),
                                .both_ways = random.chance(0.6),
                                .mtu = mtu,
                                .longest = static_cast<std::uint32_t>(random.between(8, 6 * mtu)),
                                .longest_rare = random.chance(0.3) ? 200'000u : 0u,
                                .max_pieces = static_cast<std::uint32_t>(random.between(1, 4)),
                                .max_inline = static_cast<std::uint32_t>(random.below(200)),
                                .reads = random.chance(0.8),
                                .windows = random.chance(0.5),
                                .signaled = random.chance(0.2) ? 1.0 : up_to(random, 1.0)},
                       .faults = random.chance(0.15) ? Faults{} : some_faults(random),
                       .extensions = extensions,
                       .near_wrap = random.chance(0.5),
                       .socket_buffer = random.between(60'000, 1'000'000),
                       .depth = static_cast<std::uint32_t>(random.between(2, 128)),
                       .batch = random.between(1, 64),
                       .pause = between(random, 0, 300'000),
                       .one_socket = random.chance(0.3)};
  options.setup.max_reads_out = static_cast<std::uint8_t>(random.between(1, 16));
  options.setup.max_reads_in = options.setup.max_reads_out;
  options.setup.rnr_timer = static_cast<std::uint8_t>(random.between(1, 14));    // to 1 ms
  options.setup.ack_timeout = static_cast<std::uint8_t>(random.between(9, 14));  // 2 to 67 ms
  if (random.chance(0.4)) {
    options.receives_late = between(random, 1'000, 5'000'000);
    options.receive_batch = random.between(1, 4);
  }
  if (random.chance(0.1)) {
    // Some codes ask for half a second: few messages then, and a program that looks seldom.
    options.setup.rnr_timer = static_cast<std::uint8_t>(random.below(32));
    options.plan.messages = std::min<std::uint64_t>(options.plan.messages, 15);
    options.pause = std::max<Duration>(options.pause, 100us);
  }
  return options;
}

}  // namespace weft::sim::test
