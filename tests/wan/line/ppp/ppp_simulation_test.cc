// SPDX-License-Identifier: Apache-2.0
// Two PPP sessions on a line that loses, changes, slips and loops, all of it drawn from a seed.
#include <gtest/gtest.h>

#include "session_pair.h"
#include "sim/seeds.h"

namespace weft::wan {
namespace {

struct Weather {
  double lost = 0;     // of pieces of 1,000 octets
  double changed = 0;  // a few of their bits
  double slipped = 0;
};

void make_weather(PppPair& pair, const Weather& weather, Random& random) {
  pair.harm = [weather, &random](Packet& octets, bool) {
    if (random.chance(weather.lost)) octets.assign(octets.size(), std::byte{0x7E});
    if (random.chance(weather.changed))
      damage(octets, {.bit_errors = static_cast<unsigned>(random.between(1, 5))}, random);
    if (random.chance(weather.slipped)) damage(octets, {.slips = 1}, random);
  };
}

PppSessionOptions draw_options(Random& random, PppPayload payload) {
  PppSessionOptions options{.payload = payload};
  options.receive_unit = random.chance(0.5) ? 1500 : random.between(600, 9000);
  if (random.chance(0.3)) options.network.interface_identifier = random.between(1, 3);
  if (random.chance(0.5)) {
    options.network.address = static_cast<std::uint32_t>(random.between(1, 9));
    options.network.remote_address = static_cast<std::uint32_t>(random.between(10, 19));
  }
  return options;
}

TEST(PppSimulation, WhateverTheLineDoesPacketsAreExactAndItComesBack) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "PppSimulation.*"));
    Random random(seed);
    const auto payload = PppPayload(random.below(4));
    PppPair pair(draw_options(random, payload), draw_options(random, payload), seed);
    std::vector<Packet> all;
    for (int phase = 0; phase < 6; ++phase) {
      make_weather(pair,
                   {.lost = random.chance(0.5) ? 0.3 : 0,
                    .changed = random.chance(0.5) ? 0.2 : 0,
                    .slipped = random.chance(0.5) ? 0.1 : 0},
                   random);
      pair.looped = random.chance(0.2);
      if (random.chance(0.2)) pair.a.session.set_line(false);
      if (random.chance(0.2)) pair.b.session.set_wanted(false);
      for (int i = 0; i < 40; ++i) {
        all.push_back(random_packet(random, random.between(1, 500)));
        pair.a.out.waiting.push_back(all.back());
        pair.run(50ms);
      }
      pair.a.session.set_line(true);
      pair.b.session.set_wanted(true);
    }
    EXPECT_TRUE(is_subsequence(pair.b.in.packets, all));
    // Until an Echo shows that the line leads back, what comes back looks like the other end's; but
    // for packets of InfiniBand, which have the magic number with them.
    EXPECT_TRUE(is_subsequence(pair.a.in.packets, all));
    if (payload == PppPayload::kInfiniBand) {
      EXPECT_EQ(pair.a.in.packets.size(), 0U);
    }
    EXPECT_EQ(pair.b.count(PppCounter::kPacketsReceived), pair.b.in.packets.size());

    // Good weather: at most a whole round of requests, and the pause after it.
    pair.looped = false;
    pair.harm = [](Packet&, bool) {};
    EXPECT_TRUE(pair.come_up(70s));
    pair.run(3s);
    EXPECT_TRUE(pair.up());
    const std::uint64_t opened = pair.a.count(PppCounter::kOpened);
    pair.a.out.waiting = {from_hex("0102"), from_hex("0304")};
    pair.b.in.packets.clear();
    pair.run(30s);
    EXPECT_EQ(pair.b.in.packets.size(), 2U);
    EXPECT_EQ(pair.a.count(PppCounter::kOpened), opened) << "it stays up";
  }
}

}  // namespace
}  // namespace weft::wan
