// SPDX-License-Identifier: Apache-2.0
// What must hold of a tunnel whatever the WAN does, and what it keeps of the rate over any
// distance.
#include <gtest/gtest.h>

#include "sim/seeds.h"
#include "tunnel_world.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

struct Faults {
  bool loss = false;
  bool outages = false;
  bool forgery = false;
  bool sealed = false;
  bool memory = false;  // the sites have less of it than their FIFOs promise
  bool clocks = false;  // processes are stopped, and clocks step
  bool fec = false;
  bool options = false;  // credit is in IPv6 options
};

// A tunnel with everything drawn from a seed, traffic both ways on all lanes.
class Story {
 public:
  Story(std::uint64_t seed, const Faults& faults, bool recovery)
      : faults_(faults), random_(seed), world(draw(seed, recovery)) {
    world.at_each_moment = [this] { look(); };
    if (!faults.forgery) return;
    for (std::size_t site = 0; site < 2; ++site) {
      world.paths[site]->look = [this, site](std::vector<std::byte>& frame) {
        if (faults_.options && !tamper_options(site, frame)) return false;
        if (faults_.sealed) return tamper_sealed(site, frame);
        return faults_.options || tamper(site, frame);
      };
    }
  }

  void run(int steps) {
    EXPECT_TRUE(world.activate() || faults_.loss) << world.describe();
    for (int i = 0; i < steps; ++i)
      step();
    come_to_rest();
  }

  [[nodiscard]] std::uint64_t counted() const {
    return world.count(TunnelCounter::kRxLost) + world.count(TunnelCounter::kRxSessionLost) +
           (recovery_ ? 0 : world.count(TunnelCounter::kRxNoMemory));
  }
  [[nodiscard]] std::uint64_t delivered() const { return world.count(TunnelCounter::kRxPackets); }
  [[nodiscard]] std::uint64_t sent() const { return world.count(TunnelCounter::kTxPackets); }

 private:
  WorldOptions draw(std::uint64_t seed, bool recovery) {
    recovery_ = recovery;
    WorldOptions options{.seed = seed};
    options.tunnel.recovery = recovery;
    options.tunnel.silence = faults_.outages ? 500ms : 3s;
    options.tunnel.receiver.mixed = 12ms;
    const auto scale = static_cast<std::uint8_t>(random_.below(5));
    options.buffer = {.lane_bytes = random_.between(5'000, 300'000), .block = BlockSize(scale)};
    options.wan = {.delay = Duration(random_.between(10'000, 30'000'000)),
                   .jitter = random_.chance(0.5) ? Duration(random_.between(1, 10'000'000)) : 0ns,
                   .longest_frame = overhead() + random_.between(kLeastFrame, 10'000)};
    if (faults_.fec) {
      options.tunnel.fec = {.frames = static_cast<std::uint8_t>(random_.between(1, 32)),
                            .repairs = static_cast<std::uint8_t>(random_.between(1, 8))};
    }
    if (random_.chance(0.5)) options.wan.rate_bytes_per_s = random_.between(5'000'000, 500'000'000);
    if (faults_.loss) {
      options.wan.loss = 0.2 * static_cast<double>(random_.below(100)) / 100;
      options.wan.duplicate = 0.2 * static_cast<double>(random_.below(100)) / 100;
    }
    if (random_.chance(0.5))
      options.link.rate_bytes_per_s = random_.between(20'000'000, 1'000'000'000);
    options.ip_options = faults_.options;
    if (faults_.memory) options.buffer.most_memory = random_.between(128, 256) * 4096;
    if (faults_.sealed) {
      options.sealed = {.limits = {.datagrams = random_.between(3, 2'000),
                                   .bytes = random_.between(20'000, 20'000'000)},
                        .epoch_time = Duration(random_.between(50'000'000, 5'000'000'000))};
    }
    return options;
  }

  [[nodiscard]] std::size_t overhead() const { return faults_.sealed ? SealedPath::kOverhead : 0; }

  void look() {
    for (std::size_t site = 0; site < 2; ++site) {
      for (std::uint8_t vl = 0; vl < kLanes; ++vl) {
        const Fifo& fifo = world.buffers[site]->share(0).fifo(Vl{vl});
        if (fifo.used() > fifo.capacity()) overflows = true;
      }
    }
  }

  // Whoever sits on the way replays frames, and puts forged credit into those that pass.
  bool tamper(std::size_t site, std::vector<std::byte>& frame) {
    if (random_.chance(0.05)) {
      world.paths[site]->inject(frame, world.now() + Duration(random_.below(500'000'000)));
    }
    if (!random_.chance(0.1) || frame[1] != std::byte{2}) return true;
    forge_credit(frame);
    return true;
  }
  void forge_credit(std::vector<std::byte>& items) {
    const std::size_t end = items.size();
    items.resize(end + CreditItem::kSize);
    write_credit_item({.credit = {.vl = Vl{static_cast<std::uint8_t>(random_.below(15))},
                                  .packets = static_cast<std::uint32_t>(random_.next()),
                                  .sent = random_.next() >> random_.below(64),
                                  .limit = random_.next() >> random_.below(64)},
                       .settled = static_cast<std::uint32_t>(random_.next())},
                      MutableBytes(items).subspan(end));
  }

  // The same with what is in the options of an IPv6 packet; also takes it away, and puts there what
  // was in an earlier one.
  bool tamper_options(std::size_t site, std::vector<std::byte>& packet) {
    if (random_.chance(0.05)) {
      world.paths[site]->inject(packet, world.now() + Duration(random_.below(500'000'000)));
    }
    const auto came = world.stacks[1 - site].unwrap(packet);
    EXPECT_TRUE(came);
    std::vector<std::byte> options(came->options.begin(), came->options.end());
    if (!options.empty() && random_.chance(0.5)) before_ = options;
    if (!random_.chance(options.empty() ? 0.05 : 0.3)) return true;
    switch (random_.below(faults_.sealed ? 4 : 3)) {
      case 0:
        if (!faults_.sealed && came->bytes[1] != std::byte{2}) return true;
        if (options.size() + CreditItem::kSize > OutPacket::kMostOptions) options.clear();
        forge_credit(options);
        break;
      case 1:
        options.clear();
        break;
      case 2:
        if (options.empty()) return true;
        options = before_;
        break;
      default:
        if (!options.empty()) options[random_.below(options.size())] ^= std::byte{1};
    }
    const Bytes frame = came->bytes;
    OutPacket changed({&frame, 1});
    changed.options = options;
    EXPECT_TRUE(world.stacks[site].wrap(changed));
    std::vector<std::byte> out;
    for (const Bytes piece : changed.pieces())
      out.insert(out.end(), piece.begin(), piece.end());
    packet = std::move(out);
    return true;
  }

  // The same with sealed datagrams, of which it knows nothing but that they are.
  bool tamper_sealed(std::size_t site, std::vector<std::byte>& datagram) {
    if (random_.chance(0.05)) {
      world.paths[site]->inject(datagram, world.now() + Duration(random_.below(500'000'000)));
    }
    if (random_.chance(0.05)) {
      auto forged = datagram;
      forged[random_.below(forged.size())] ^= std::byte(1 << random_.below(8));
      if (random_.chance(0.3)) forged.resize(random_.below(forged.size()) + 1);
      world.paths[site]->inject(std::move(forged), world.now() + options().delay);
    }
    // Back to where it came from, and to a path that is not there any more.
    if (random_.chance(0.02)) {
      world.paths[1 - site]->inject(datagram, world.now() + options().delay);
    }
    return true;
  }
  [[nodiscard]] const WanOptions& options() const { return world.options.wan; }

  void step() {
    if (faults_.sealed && random_.chance(0.05)) world.agree_on_keys(random_.below(2));
    for (auto& site : world.sites) {
      if (random_.chance(0.3)) {
        for (const PortState state : {PortState::kArmed, PortState::kActive})
          site->port.set_state(state, world.now());
      }
      for (std::uint64_t i = random_.below(30); i > 0; --i) {
        const auto vl = static_cast<std::uint8_t>(random_.below(15));
        if (site->port.backlog(Vl{vl}) > 20) continue;
        site->send(Sl{vl}, Vl{vl}, 4 * random_.below(random_.chance(0.3) ? 1024 : 64));
      }
      if (random_.chance(0.1)) site->blocked = static_cast<std::uint16_t>(random_.next() & 0x7FFF);
      if (random_.chance(0.3)) release(*site);
    }
    if (faults_.outages) disturb();
    if (faults_.clocks) stop_clocks();
    world.run_for(Duration(random_.below(20'000'000)));
  }

  void disturb() {
    const std::size_t site = random_.below(2);
    SimPath& path = *world.paths[site];
    if (random_.chance(path.cut ? 0.05 : 0.02)) path.cut = !path.cut;
    if (random_.chance(0.01)) {
      world.sites[site]->port.set_state(PortState::kDown, world.now());
    }
    if (random_.chance(0.02)) {
      path.options.longest_frame = overhead() + random_.between(kLeastFrame, 10'000);
    }
    if (random_.chance(0.01)) {
      world.ends[site]->stop(world.now());
      world.ends[site]->start(world.now());
    }
  }

  void stop_clocks() {
    if (random_.chance(0.05)) {
      world.stop_for(random_.below(2), Duration(random_.below(4'000'000'000)));
    }
    if (random_.chance(0.02)) world.step_clock(Duration(random_.below(600'000'000'000)));
  }

  static void release(Site& site) {
    site.blocked = 0;
    site.kept.clear();
  }

  void come_to_rest() {
    for (std::size_t site = 0; site < 2; ++site) {
      world.paths[site]->cut = false;
      world.paths[site]->options.loss = 0;
      release(*world.sites[site]);
    }
    world.run_for(4s);  // as long as it takes to notice whatever has come to pass
    EXPECT_TRUE(world.activate()) << world.describe();
    // Short of memory, it goes on slowly.
    at_rest = world.run_until([this] { return world.pool.in_use() == 0; },
                              faults_.memory ? Duration(1h) : Duration(5s));
  }

  using PortState = link::PortState;
  const Faults faults_;
  Random random_;
  bool recovery_ = false;
  std::vector<std::byte> before_;  // options of an earlier packet

 public:
  bool overflows = false;
  bool at_rest = false;
  World world;
};

constexpr int kSteps = 120;

class Tunnels : public ::testing::Test {
 protected:
  static std::string replay(std::uint64_t seed) {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
  }
  static void check(const Story& story) {
    EXPECT_GT(story.sent(), 20);
    EXPECT_FALSE(story.overflows) << "a FIFO holds more than it has room for";
    EXPECT_TRUE(story.at_rest) << "something waits for ever, or is kept: "
                               << story.world.pool.in_use();
    for (const auto& site : story.world.sites) {
      EXPECT_EQ(site->disorder, 0);
      EXPECT_EQ(site->damaged, 0);
    }
    // Delivered, or counted. Of what was on its way when a session ended nobody can say which.
    const std::uint64_t unconfirmed = story.world.count(TunnelCounter::kTxUnconfirmed);
    EXPECT_LE(story.delivered() + story.counted(), story.sent());
    EXPECT_GE(story.delivered() + story.counted() + unconfirmed, story.sent());
    if (HasFailure()) ADD_FAILURE() << story.world.describe();
  }
};

TEST_F(Tunnels, LoseNothingWithRecoveryWhateverTheWanLoses) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, CountWhatTheWanLosesWithoutRecovery) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true}, false);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.delivered() + story.counted(), story.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, LoseNothingWithoutRecoveryWhereTheWanOnlyDelaysAndMixesUp) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {}, false);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, CountWhatIsLostWhenPathsAndPortsComeAndGo) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .outages = true}, seed % 3 != 0);
    story.run(kSteps);
    check(story);
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, LoseNothingWithRecoveryWhereTheFarSideIsOutOfMemory) {
  std::uint64_t refused = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .memory = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.delivered(), story.sent());
    refused += story.world.count(TunnelCounter::kRxNoMemory);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 50);
}

TEST_F(Tunnels, CountWhatIsLostWhenProcessesAreStoppedAndClocksStep) {
  std::uint64_t silences = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .clocks = true}, seed % 3 != 0);
    story.run(kSteps);
    check(story);
    silences += story.world.count(TunnelCounter::kSessionsSilent);
    if (HasFailure()) return;
  }
  EXPECT_GT(silences, 50);
}

TEST_F(Tunnels, AreNotDeceivedByReplayedFramesAndForgedCredit) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.forgery = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_GT(story.world.count(TunnelCounter::kCreditForged), 0);
    EXPECT_GT(story.world.count(TunnelCounter::kRxDoubled), 0);
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, WithFecLoseNothingWhateverTheWanLoses) {
  std::uint64_t recovered = 0, unrecovered = 0, repeated = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .sealed = seed % 3 == 0, .memory = seed % 4 == 0, .fec = true},
                true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.world.count(TunnelCounter::kRxRepairRefused), 0);
    EXPECT_EQ(story.delivered(), story.sent());
    recovered += story.world.count(TunnelCounter::kRxRecovered);
    unrecovered += story.world.count(TunnelCounter::kRxUnrecovered);
    repeated += story.world.count(TunnelCounter::kTxRepeated);
    if (HasFailure()) return;
  }
  EXPECT_GT(recovered, 1000);
  EXPECT_GT(unrecovered, 50);
  EXPECT_GT(repeated, 50);
}

// Frames that were changed on the way do not become others.
TEST_F(Tunnels, WithFecAreNotDeceivedAndCountWhatIsLostWhenPathsComeAndGo) {
  std::uint64_t refused = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    const bool forgery = seed % 2 == 0;
    Story story(
        seed,
        {.loss = true, .outages = !forgery, .forgery = forgery, .clocks = !forgery, .fec = true},
        forgery || seed % 3 != 0);
    story.run(kSteps);
    check(story);
    if (forgery) {
      EXPECT_EQ(story.delivered(), story.sent());
    }
    refused += story.world.count(TunnelCounter::kRxRepairRefused);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 50);
}

TEST_F(Tunnels, WithCreditInOptionsLoseNothingWhateverTheWanLoses) {
  std::uint64_t in_options = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .options = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.delivered(), story.sent());
    in_options += story.world.count(TunnelCounter::kTxOptions);
    if (HasFailure()) return;
  }
  EXPECT_GT(in_options, 1000);
}

TEST_F(Tunnels, AreNotDeceivedByReplayedAndForgedOptions) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.forgery = true, .options = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_GT(story.world.count(TunnelCounter::kCreditForged), 0);
    EXPECT_GT(story.world.count(TunnelCounter::kRxDoubled), 0);
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

// Every datagram that came was opened once, or refused under one counter.
void check_sealed(const Story& story) {
  constexpr std::array kRefusals{"wan_open_not_sealed",    "wan_open_unknown_keys",
                                 "wan_open_short",         "wan_open_ended_epoch",
                                 "wan_open_unknown_epoch", "wan_open_forged",
                                 "wan_open_replayed",      "wan_open_too_old"};
  for (std::size_t site = 0; site < 2; ++site) {
    std::uint64_t refused = 0;
    for (const char* const refusal : kRefusals)
      refused += story.world.count_sealed(site, refusal);
    const std::uint64_t opened = story.world.count_sealed(site, "wan_opened");
    EXPECT_EQ(opened + refused, story.world.arrived[site]);
    EXPECT_LE(opened, story.world.count_sealed(1 - site, "wan_sealed"));
  }
  // Nothing but what the other end has sent gets as far as the tunnel.
  EXPECT_EQ(story.world.count(TunnelCounter::kRxMalformed), 0);
  EXPECT_EQ(story.world.count(TunnelCounter::kRxVersion), 0);
  EXPECT_EQ(story.world.count(TunnelCounter::kCreditForged), 0);
  if (::testing::Test::HasFailure()) ADD_FAILURE() << story.world.describe();
}

TEST_F(Tunnels, WhichAreSealedLoseNothingWhereDatagramsAreLostRepeatedAndForged) {
  std::uint64_t rotated = 0, forged = 0, replayed = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .forgery = true, .sealed = true}, true);
    story.run(kSteps);
    check(story);
    check_sealed(story);
    EXPECT_EQ(story.delivered(), story.sent());
    for (std::size_t site = 0; site < 2; ++site) {
      rotated += story.world.count_sealed(site, "wan_open_rotated");
      forged += story.world.count_sealed(site, "wan_open_forged");
      replayed += story.world.count_sealed(site, "wan_open_replayed");
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(rotated, 50);
  EXPECT_GT(forged, 50);
  EXPECT_GT(replayed, 50);
}

// What is changed beside a datagram is as a datagram that is changed.
TEST_F(Tunnels, WhichAreSealedTakeNoOptionsButTheirOwn) {
  std::uint64_t forged = 0, in_options = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .forgery = true, .sealed = true, .options = true}, true);
    story.run(kSteps);
    check(story);
    check_sealed(story);
    EXPECT_EQ(story.delivered(), story.sent());
    for (std::size_t site = 0; site < 2; ++site)
      forged += story.world.count_sealed(site, "wan_open_forged");
    in_options += story.world.count(TunnelCounter::kTxOptions);
    if (HasFailure()) return;
  }
  EXPECT_GT(forged, 500);
  EXPECT_GT(in_options, 1000);
}

TEST_F(Tunnels, WhichAreSealedCountWhatIsLostWhenPathsComeAndGo) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .outages = true, .forgery = true, .sealed = true},
                seed % 3 != 0);
    story.run(kSteps);
    check(story);
    if (HasFailure()) return;
  }
}

// --- distance ------------------------------------------------------------------------------------

struct Measured {
  double bytes_per_s = 0;
  std::uint64_t most_buffered = 0;
};

constexpr std::uint64_t kRate = 100'000'000;

Measured measure(Duration round_trip, std::uint64_t fifo, double loss = 0) {
  WorldOptions options;
  options.buffer.lane_bytes = fifo;
  options.wan = {
      .delay = round_trip / 2, .loss = loss, .rate_bytes_per_s = kRate, .longest_frame = 8192};
  World world(options);
  EXPECT_TRUE(world.activate()) << world.describe();
  const auto send_for = [&](Duration time) {
    const Time end = world.now() + time;
    while (world.now() < end) {
      world.sites[0]->keep_full(Vl{0}, 2048, 64);
      world.run_for(200us);
    }
  };
  send_for(5 * round_trip + 100ms);
  const std::uint64_t before = world.sites[1]->came_bytes;
  const Time began = world.now();
  send_for(1s);
  EXPECT_EQ(world.count(TunnelCounter::kRxOverrun), 0);
  const double seconds = std::chrono::duration<double>(world.now() - began).count();
  return {.bytes_per_s = static_cast<double>(world.sites[1]->came_bytes - before) / seconds,
          .most_buffered = world.buffers[1]->share(0).fifo(Vl{0}).most_used() * 64};
}

TEST(Distance, OfTwoHundredMillisecondsKeepsTheRateOfNone) {
  const std::uint64_t product = kRate / 5;
  const Measured near = measure(0ms, product * 12 / 10);
  const Measured far = measure(200ms, product * 12 / 10);
  EXPECT_GT(near.bytes_per_s, 0.95 * kRate);
  EXPECT_GE(far.bytes_per_s, 0.95 * near.bytes_per_s);
  EXPECT_LE(far.most_buffered, product * 12 / 10);
}

TEST(Distance, WithCreditOfTheStandardIsWhatLimitsTheRate) {
  const Measured far = measure(20ms, BulkBuffer::kLeastBytes);
  EXPECT_LT(far.bytes_per_s, 1.1 * BulkBuffer::kLeastBytes / 0.02);
  EXPECT_GT(far.bytes_per_s, 0.5 * BulkBuffer::kLeastBytes / 0.02);
}

// The far end's FIFO would take more than this end has memory to keep: the fabric waits.
TEST(Distance, IsCoveredByNoMorePacketsThanMayBeKept) {
  constexpr std::uint64_t kKept = 100;
  WorldOptions options;
  options.tunnel.sender.kept_packets = kKept;
  options.buffer.lane_bytes = 8U << 20;
  options.wan = {.delay = 10ms, .longest_frame = 8192};
  World world(options);
  ASSERT_TRUE(world.activate()) << world.describe();
  std::uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    world.sites[0]->keep_full(Vl{0}, 2048, 64);
    world.sites[0]->keep_full(Vl{1}, 2048, 64);
    world.run_for(100us);
    most = std::max(most, world.count(0, TunnelCounter::kTxPackets) -
                              world.count(1, TunnelCounter::kRxPackets));
  }
  EXPECT_LE(most, kKept);
  EXPECT_GE(world.sites[1]->came[0] + world.sites[1]->came[1], 4 * kKept)
      << "a round trip is 20 ms";
  EXPECT_EQ(world.sites[1]->disorder, 0u);
}

TEST(Distance, WithOneFrameInAThousandLostKeepsNineTenths) {
  const std::uint64_t product = kRate / 10;
  const Measured whole = measure(100ms, 3 * product);
  const Measured lossy = measure(100ms, 3 * product, 0.001);
  EXPECT_GE(lossy.bytes_per_s, 0.9 * whole.bytes_per_s);
}

}  // namespace
}  // namespace weft::wan
