// SPDX-License-Identifier: Apache-2.0
// Connections whose ends agree on Weft's extensions when packets are under way, as on wire `roce`:
// each end hears of it at a moment of its own, or never, over networks as bad as a seed likes.
#include <gtest/gtest.h>

#include <map>

#include "rc_some_world.h"
#include "rc_world.h"
#include "sim/seeds.h"
#include "wire/bth.h"

namespace weft::sim::test {
namespace {

using hca::ConnectedCounter;

// Tells the ends of a world, some while after they have handed so many bursts to the wire.
class Agents {
 public:
  struct Options {
    std::size_t connections = 1;
    bool one_socket = false;
  };

  Agents(RcWorld& world, const Options& options, Random random) : world_(world), random_(random) {
    for (int host = 0; host < 2; ++host) {
      for (std::size_t i = 0; i < options.connections; ++i) {
        End end{.host = host,
                .peer = RcWorld::qpn(1 - host, i, options.one_socket),
                .bursts_left = random_.between(1, 60),
                .told = random_.chance(0.9) ? Told::kNotYet : Told::kNever};
        ends_.emplace(RcWorld::qpn(host, i, options.one_socket).value(), end);
      }
      world.host(host).on_send = [this](Qpn from, const hca::Burst& burst) {
        look_at(from, burst);
        return hca::SendResult{};
      };
    }
  }

  [[nodiscard]] std::uint64_t extended() const { return extended_; }
  // Of ends that had not been told: none may be.
  [[nodiscard]] std::uint64_t extended_too_early() const { return too_early_; }
  [[nodiscard]] std::uint64_t before() const { return before_; }

 private:
  enum class Told : std::uint8_t { kNever, kNotYet, kYes };
  struct End {
    int host = 0;
    Qpn peer{};
    std::uint64_t bursts_left = 0;
    Told told = Told::kNotYet;
  };

  void look_at(Qpn from, const hca::Burst& burst) {
    End& end = ends_.at(from.value());
    for (const hca::OutPacket& packet : burst.packets()) {
      const bool weft =
          wire::Bth::parse(packet.header)->opcode == wire::Opcode::weft_rc_acknowledge;
      extended_ += weft;
      too_early_ += weft && end.told != Told::kYes;
      before_ += end.told == Told::kNotYet;
    }
    if (end.told != Told::kNotYet || end.bursts_left == 0 || --end.bursts_left > 0) return;
    world_.scheduler().after(Duration(static_cast<std::int64_t>(random_.below(2'000'000))),
                             [this, from, &end] { tell(from, end); });
  }

  void tell(Qpn qpn, End& end) {
    end.told = Told::kYes;
    ConnectedHost& host = world_.host(end.host);
    host.queue_pair(qpn).agree(
        {.local = qpn, .remote = end.peer, .remote_address = world_.host(1 - end.host).gid()});
    host.look_at(qpn);
  }

  RcWorld& world_;
  Random random_;
  std::map<std::uint32_t, End> ends_;
  std::uint64_t extended_ = 0;
  std::uint64_t too_early_ = 0;
  std::uint64_t before_ = 0;
};

class RcAgreed : public ::testing::Test {
 protected:
  void run(std::uint64_t seed, const WorldOptions& options) {
    RcWorld world(seed, options);
    const Agents agents(world,
                        {.connections = options.plan.connections, .one_socket = options.one_socket},
                        Random(seed + 1));
    world.run();
    world.check();
    EXPECT_EQ(agents.extended_too_early(), 0u);
    extended_ += agents.extended();
    before_ += agents.before();
    kept_ += world.counter(ConnectedCounter::kRxBuffered);
    gave_up_ += world.gave_up();
  }
  // Else nothing was agreed while packets were under way, or nothing came of it.
  void expect_that_it_mattered(std::size_t seeds) const {
    EXPECT_GT(before_, 10 * seeds);
    EXPECT_GT(extended_, 10 * seeds);
    EXPECT_GT(kept_, seeds);
    EXPECT_LE(gave_up_, seeds / 50 + 1);
  }

  std::uint64_t extended_ = 0;
  std::uint64_t before_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t gave_up_ = 0;
};

// More than the ends have said to each other when they hear of it.
WorldOptions long_world(std::uint64_t seed) {
  WorldOptions options = some_world(seed, false);
  options.plan.messages += 40;
  return options;
}

TEST_F(RcAgreed, KeepsToTheModelOverAnyNetwork) {
  const auto all = seeds(100);
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(replay(seed));
    run(seed, long_world(seed));
    if (::testing::Test::HasFailure()) return;
  }
  if (all.size() > 1) expect_that_it_mattered(all.size());
}

TEST_F(RcAgreed, KeepsToTheModelWithXrcTargets) {
  const auto all = seeds(50);
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(replay(seed));
    WorldOptions options = long_world(seed);
    options.plan.service = hca::QpType::kXrcInitiator;
    options.plan.both_ways = false;
    options.plan.shared_receives = true;
    options.plan.longest_rare = 0;
    run(seed, options);
    if (::testing::Test::HasFailure()) return;
  }
  if (all.size() > 1) expect_that_it_mattered(all.size());
}

}  // namespace
}  // namespace weft::sim::test
