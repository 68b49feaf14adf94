// SPDX-License-Identifier: Apache-2.0
// What must hold of a fibre whatever happens on it: credit and packets damaged and lost, and the
// cable pulled. It is a link, so what the line loses is lost; for want of a buffer nothing is.
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "fibre_world.h"
#include "link/iba_values.h"
#include "sim/seeds.h"

namespace weft::wan {
namespace {

using link::LinkCounter;
using link::PortCounter;

class FibreStory {
 public:
  explicit FibreStory(std::uint64_t seed) : random_(seed), world(draw(seed)) {}

  void run() {
    EXPECT_TRUE(world.activate() || outages_) << world.describe();
    for (int i = 0; i < 100; ++i)
      step();
    come_to_rest();
  }

  // Packets, both directions together.
  [[nodiscard]] std::uint64_t sent() const { return sum(&FibreSite::sent); }
  [[nodiscard]] std::uint64_t came() const { return sum(&FibreSite::came); }
  [[nodiscard]] std::uint64_t lost_on_links() const {
    std::uint64_t lost = 0;
    const std::array<const link::DirectLink*, 3> links{&world.fibre, world.locals[0].get(),
                                                       world.locals[1].get()};
    for (const link::DirectLink* const link : links) {
      lost += link->counters().get(LinkCounter::kLost) + link->counters().get(LinkCounter::kDown);
    }
    return lost;
  }

 private:
  FibreWorldOptions draw(std::uint64_t seed) {
    outages_ = seed % 3 == 0;
    FibreWorldOptions options;
    for (FibreOptions& end : options.ends) {
      end.near.vl_buffer = static_cast<std::uint32_t>(random_.between(67, 2048));
      const std::uint64_t least = link::CreditFormat::kMostScale;
      const link::CreditFormat format{.scale = static_cast<std::uint8_t>(random_.below(least)),
                                      .wide = random_.chance(0.5)};
      const std::uint64_t one = format.space(link::longest_packet(link::kLargestMtu));
      end.far.vl_buffer = static_cast<std::uint32_t>(random_.between(one, 20 * one));
      if (random_.chance(0.8)) end.far.credit_format = format;
    }
    options.fibre = {
        .rate_bytes_per_s = random_.chance(0.5) ? random_.between(5'000'000, 500'000'000) : 0,
        .delay = Duration(random_.between(0, 5'000'000)),
        .loss = 0.1 * static_cast<double>(random_.below(100)) / 100,
        .credit_loss = 0.3 * static_cast<double>(random_.below(100)) / 100,
        .bit_errors = random_.chance(0.5) ? 1e-6 : 0,
        .flap = outages_ ? Duration(random_.between(50'000'000, 500'000'000)) : 0ns,
        .outage = Duration(random_.between(1'000'000, 100'000'000)),
        .seed = random_.next()};
    if (random_.chance(0.5)) options.local[1] = line(random_.between(5'000'000, 500'000'000));
    return options;
  }

  void step() {
    for (const auto& site : world.sites) {
      if (outages_) activate(*site);
      for (std::uint64_t i = random_.below(30); i > 0; --i) {
        const Vl vl{static_cast<std::uint8_t>(random_.below(15))};
        if (site->port.backlog(vl) < 20) site->send(vl, 4 * random_.below(1024));
      }
      if (random_.chance(0.1)) site->blocked = static_cast<std::uint16_t>(random_.next() & 0x7FFF);
      if (random_.chance(0.3)) release(*site);
    }
    world.run_for(Duration(random_.below(10'000'000)));
  }

  void activate(FibreSite& site) {
    site.port.set_state(link::PortState::kArmed, world.now());
    site.port.set_state(link::PortState::kActive, world.now());
  }
  static void release(FibreSite& site) {
    site.blocked = 0;
    site.kept.clear();
  }

  void come_to_rest() {
    world.fibre.set_emulation({}, world.now());
    for (const auto& site : world.sites)
      release(*site);
    EXPECT_TRUE(world.activate()) << world.describe();
    world.run_for(10s);
    at_rest = world.pool.in_use() == 0;
  }

  template <class Counts>
  [[nodiscard]] std::uint64_t sum(Counts FibreSite::*which) const {
    std::uint64_t total = 0;
    for (const auto& site : world.sites)
      total = std::accumulate(((*site).*which).begin(), ((*site).*which).end(), total);
    return total;
  }

  Random random_;
  bool outages_ = false;

 public:
  bool at_rest = false;
  FibreWorld world;
};

TEST(Fibres, DropNothingForWantOfABufferWhateverHappensToCreditAndCountTheRest) {
  std::uint64_t lost = 0;
  std::uint64_t halves = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "Fibres.DropNothing*"));
    FibreStory story(seed);
    story.run();
    EXPECT_GT(story.came(), 100);
    EXPECT_TRUE(story.at_rest) << "something waits for ever, or is kept";
    EXPECT_EQ(story.world.count(PortCounter::kRxOverrun), 0) << "a buffer was too small";
    for (const auto& site : story.world.sites)
      EXPECT_EQ(site->damaged, 0);
    EXPECT_EQ(story.came() + story.lost_on_links() + story.world.dropped_packets(), story.sent());
    lost += story.lost_on_links();
    halves += story.world.count(PortCounter::kRxBadLinkPacket);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << story.world.describe();
      return;
    }
  }
  EXPECT_GT(lost, 50);
  EXPECT_GT(halves, 50) << "of counts";
}

}  // namespace
}  // namespace weft::wan
