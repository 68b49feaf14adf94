// SPDX-License-Identifier: Apache-2.0
// A tunnel whose WAN, sites and traffic are drawn from a seed, and what must hold of it whatever
// the WAN does.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "sim/seeds.h"
#include "tunnel_world.h"
#include "wire/endian.h"

namespace weft::wan {

struct Faults {
  bool loss = false;
  bool outages = false;
  bool forgery = false;
  bool sealed = false;
  bool memory = false;  // the sites have less of it than their FIFOs promise
  bool clocks = false;  // processes are stopped, and clocks step
  bool fec = false;
  bool options = false;  // credit is in IPv6 options
  bool kills = false;    // ends are killed and begin anew
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

  // Whether a packet on each lane of both sites arrives.
  [[nodiscard]] bool carries() {
    std::array<std::array<std::uint64_t, 16>, 2> before{world.sites[0]->came, world.sites[1]->came};
    for (std::uint8_t vl = 0; vl < kLanes; ++vl) {
      for (auto& site : world.sites)
        if (!site->send(Sl{vl}, Vl{vl}, 256)) return false;
    }
    return world.run_until(
        [&] {
          for (std::size_t site = 0; site < 2; ++site) {
            for (std::size_t vl = 0; vl < kLanes; ++vl)
              if (world.sites[site]->came[vl] != before[site][vl] + 1) return false;
          }
          return true;
        },
        2s);
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
    if (faults_.kills && random_.chance(0.03)) kill(random_.below(2));
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

  // With all that the site's memory holds.
  void kill(std::size_t site) {
    release(*world.sites[site]);
    world.restart(site);
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
    // Without recovery nobody holds what is still on its way, and nothing came after what was lost
    // last: that is missed when the other end has said how much it has sent, several times, for
    // that may be lost too.
    if (!recovery_) world.run_for(1s);
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

inline constexpr int kSteps = 120;

class Tunnels : public ::testing::Test {
 protected:
  static std::string replay(std::uint64_t seed) {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
  }
  static void check(const Story& story) {
    check_but_for_sums(story);
    // Delivered, or counted. Of what was on its way when a session ended nobody can say which.
    const std::uint64_t unconfirmed = story.world.count(TunnelCounter::kTxUnconfirmed);
    EXPECT_LE(story.delivered() + story.counted(), story.sent());
    EXPECT_GE(story.delivered() + story.counted() + unconfirmed, story.sent());
    if (HasFailure()) ADD_FAILURE() << story.world.describe();
  }
  static void check_but_for_sums(const Story& story) {
    EXPECT_GT(story.sent(), 20);
    EXPECT_FALSE(story.overflows) << "a FIFO holds more than it has room for";
    EXPECT_TRUE(story.at_rest) << "something waits for ever, or is kept: "
                               << story.world.pool.in_use();
    for (const auto& site : story.world.sites) {
      EXPECT_EQ(site->disorder, 0);
      EXPECT_EQ(site->damaged, 0);
    }
  }
};

}  // namespace weft::wan
