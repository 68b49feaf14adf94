// SPDX-License-Identifier: Apache-2.0
// What extenders make of a path whose rate they find out, alone, with others of their kind, and
// beside TCP.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "../sim/tcp_cubic.h"
#include "leg_flow.h"

namespace weft::wan::test {
namespace {

const Gid kThere = Gid::from_ipv4(0x0A000001);

Gid sender(std::uint32_t number) {
  return Gid::from_ipv4(0x0A000100 + number);
}

struct RateWay {
  std::uint64_t bytes_per_s = 0;
  Duration delay = 20ms;  // one way
  Duration queue = 50ms;  // that may wait, as time at the rate
  std::size_t frame = 8000;
  std::size_t mark = 0;  // bytes
};

class Wan {
 public:
  explicit Wan(const RateWay& way)
      : way_(way),
        network_(scheduler_, Random(1),
                 {.delay = way.delay, .jitter = 20us, .rate_bytes_per_s = 12'500'000'000}) {
    narrow(way.bytes_per_s);
  }
  void narrow(std::uint64_t bytes_per_s) {
    network_.narrow(kThere,
                    {.rate_bytes_per_s = bytes_per_s,
                     .queue = static_cast<std::size_t>(way_.queue / 1us * bytes_per_s / 1'000'000),
                     .mark = way_.mark});
  }
  LegFlow& add(const PacingSettings& pacing = {.adapt = true}) {
    const auto number = static_cast<std::uint32_t>(flows_.size());
    return *flows_.emplace_back(std::make_unique<LegFlow>(scheduler_, network_, sender(number),
                                                          kThere, way_.frame, pacing));
  }
  void run_for(Duration time) { scheduler_.run_until(scheduler_.now() + time); }
  // Bytes per second of each flow, over that time.
  std::vector<double> rates(Duration time) {
    std::vector<double> before;
    for (const auto& flow : flows_)
      before.push_back(static_cast<double>(flow->arrived()));
    run_for(time);
    std::vector<double> out;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      out.push_back((static_cast<double>(flows_[i]->arrived()) - before[i]) /
                    std::chrono::duration<double>(time).count());
    }
    return out;
  }
  sim::Scheduler& scheduler() { return scheduler_; }
  sim::Network& network() { return network_; }
  [[nodiscard]] std::uint64_t dropped() const { return network_.counts().dropped; }

 private:
  const RateWay way_;
  sim::Scheduler scheduler_;
  sim::Network network_;
  std::vector<std::unique_ptr<LegFlow>> flows_;
};

double jain(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double rate : rates) {
    sum += rate;
    squares += rate * rate;
  }
  return sum * sum / (static_cast<double>(rates.size()) * squares);
}

class AutoRate : public testing::TestWithParam<RateWay> {};

TEST_P(AutoRate, FillsAPathAlone) {
  const RateWay way = GetParam();
  Wan wan(way);
  LegFlow& flow = wan.add();
  wan.run_for(4s + 20 * way.delay);
  const std::uint64_t dropped = wan.dropped();
  const double rate = wan.rates(way.bytes_per_s > 1'000'000'000 ? 4s : 12s)[0];
  EXPECT_GE(rate, 0.95 * static_cast<double>(way.bytes_per_s));
  EXPECT_EQ(wan.dropped(), dropped);
  EXPECT_TRUE(flow.leg().works());
}

INSTANTIATE_TEST_SUITE_P(Paths, AutoRate,
                         testing::Values(RateWay{12'500'000, 500us}, RateWay{12'500'000, 10ms},
                                         RateWay{12'500'000, 100ms}, RateWay{125'000'000, 500us},
                                         RateWay{125'000'000, 10ms}, RateWay{125'000'000, 100ms},
                                         RateWay{1'250'000'000, 500us, 50ms, 64'000},
                                         RateWay{1'250'000'000, 10ms, 50ms, 64'000},
                                         RateWay{1'250'000'000, 100ms, 50ms, 64'000}),
                         [](const auto& info) {
                           return fmt::format("{}Mbps_{}us", info.param.bytes_per_s / 125'000,
                                              info.param.delay / 500ns);
                         });

class SharedWan : public testing::TestWithParam<RateWay> {};

TEST_P(SharedWan, IsSharedByTwo) {
  Wan wan(GetParam());
  wan.add();
  wan.run_for(10s);
  wan.add();
  wan.run_for(50s);
  const auto rates = wan.rates(30s);
  EXPECT_GE(jain(rates), 0.9) << rates[0] / 1e6 << " and " << rates[1] / 1e6;
  EXPECT_GE(rates[0] + rates[1], 0.9 * static_cast<double>(GetParam().bytes_per_s));
}

class BesideTcp : public testing::TestWithParam<RateWay> {};

TEST_P(BesideTcp, NeitherStarves) {
  Wan wan(GetParam());
  wan.add();
  sim::test::TcpCubic tcp(wan.scheduler(), wan.network(), sender(100), kThere);
  wan.run_for(2s);
  tcp.start();
  wan.run_for(20s);
  const std::uint64_t before = tcp.delivered();
  const double ours = wan.rates(40s)[0];
  const double theirs = static_cast<double>(tcp.delivered() - before) / 40;
  fmt::print("ours {:.1f} MB/s, TCP {:.1f} MB/s: {:.2f}\n", ours / 1e6, theirs / 1e6,
             ours / (ours + theirs));
  EXPECT_GE(ours, 0.2 * (ours + theirs));
  EXPECT_GE(theirs, 0.2 * (ours + theirs));
  EXPECT_GE(ours + theirs, 0.8 * static_cast<double>(GetParam().bytes_per_s));
}

const auto kShared =
    testing::Values(RateWay{12'500'000, 10ms, 50ms, 1500}, RateWay{12'500'000, 2ms, 50ms, 1500},
                    RateWay{12'500'000, 40ms, 100ms, 1500}, RateWay{62'500'000, 10ms, 50ms, 4000});
INSTANTIATE_TEST_SUITE_P(Paths, SharedWan, kShared, [](const auto& info) {
  return fmt::format("{}Mbps_{}us", info.param.bytes_per_s / 125'000, info.param.delay / 500ns);
});
INSTANTIATE_TEST_SUITE_P(Paths, BesideTcp, kShared, [](const auto& info) {
  return fmt::format("{}Mbps_{}us", info.param.bytes_per_s / 125'000, info.param.delay / 500ns);
});

TEST(AutoRates, FollowAPathThatBecomesNarrowAndWideAgain) {
  Wan wan({125'000'000, 10ms, 200ms});
  wan.add();
  wan.run_for(4s);
  wan.narrow(25'000'000);
  wan.run_for(3s);
  EXPECT_GE(wan.rates(3s)[0], 0.9 * 25e6);
  wan.narrow(125'000'000);
  wan.run_for(4s);
  EXPECT_GE(wan.rates(3s)[0], 0.9 * 125e6);
}

// A machine that has other things to do: now and then an end, or both, which are on it, get no
// processor.
struct Load {
  Duration often = 0ns;    // from the beginning of such a time to the next one, on average
  Duration longest = 0ns;  // that one takes, and half of it on average
  bool sender = true;
  bool receiver = true;
};

class LoadedEnds : public testing::TestWithParam<Load> {
 protected:
  // Of what the path carries, what arrives.
  double share(const PacingSettings& pacing) {
    constexpr std::uint64_t kPath = 50'000'000;
    Wan wan({kPath, 10ms, 100ms});
    random_.seed(7);
    LegFlow& flow = wan.add(pacing);
    hold_up(wan.scheduler(), flow);
    wan.run_for(3s);
    return wan.rates(10s)[0] / kPath;
  }

 private:
  void hold_up(sim::Scheduler& scheduler, LegFlow& flow) {
    const Load& load = GetParam();
    scheduler.after(draw(2 * load.often), [this, &load, &scheduler, &flow] {
      const Time until = scheduler.now() + draw(load.longest);
      if (load.sender) flow.hold_up_sender(until);
      if (load.receiver) flow.hold_up_receiver(until);
      hold_up(scheduler, flow);
    });
  }
  Duration draw(Duration most) {
    return Duration(std::uniform_int_distribution<Duration::rep>(0, most.count())(random_));
  }
  std::mt19937 random_;
};

// Who is told the rate loses what the processor was away for, and does not make up for it.
TEST_P(LoadedEnds, FindOutNoLowerRateThanTheyCouldBeTold) {
  const double told = share({.most_bytes_per_s = 50'000'000});
  const double found_out = share({.adapt = true});
  fmt::print("told {:.2f}, found out {:.2f}\n", told, found_out);
  EXPECT_GE(found_out, 0.88 * told);
}

INSTANTIATE_TEST_SUITE_P(Loads, LoadedEnds,
                         testing::Values(Load{200ms, 60ms}, Load{20ms, 20ms}, Load{50ms, 50ms},
                                         Load{100ms, 100ms, false, true}),
                         [](const auto& info) {
                           return fmt::format("{}ms_in_{}ms{}", info.param.longest / 2ms,
                                              info.param.often / 1ms,
                                              info.param.sender ? "" : "_of_the_receiver");
                         });

TEST(AutoRates, LoseNothingOnAPathThatMarks) {
  Wan wan({125'000'000, 10ms, 50ms, 8000, 500'000});
  LegFlow& flow = wan.add();
  wan.run_for(3s);
  const std::uint64_t dropped = wan.dropped();
  EXPECT_GE(wan.rates(5s)[0], 0.85 * 125e6);
  EXPECT_EQ(wan.dropped(), 0u) << dropped;
  EXPECT_GT(flow.count("leg_tx_marked"), 0u);
  EXPECT_EQ(flow.count("leg_tx_lost"), 0u);
}

}  // namespace
}  // namespace weft::wan::test
