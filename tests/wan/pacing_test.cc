// SPDX-License-Identifier: Apache-2.0
#include "wan/pacing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "sim/wan_path.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

constexpr std::size_t kPacingPacket = 4096;

// A sender that always has more, and a far end that tells every 5 ms what it saw.
class Flow {
 public:
  Flow(const PacingSettings& settings, std::string_view there)
      : path_(scheduler_, parse_path_emulation(there, {}).value(),
              [this](std::vector<std::byte> packet, std::uint8_t traffic_class) {
                arrive(packet, traffic_class);
              }),
        pacer_(settings, scheduler_.now()) {
    send();
    scheduler_.after(kTell, [this] { tell(); });
  }

  void run_for(Duration time) {
    arrived_ = 0;
    longest_ = 0ns;
    scheduler_.run_until(scheduler_.now() + time);
  }
  void change(std::string_view there) { path_.change(parse_path_emulation(there, {}).value()); }
  void be_silent() { silent_ = true; }

  // Since run_for() was called.
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] Duration longest_delay() const { return longest_; }
  [[nodiscard]] std::uint64_t dropped() const {
    return path_.model().counters().get(PathCounter::kQueueFull);
  }
  [[nodiscard]] const Pacer& pacer() const { return pacer_; }

 private:
  static constexpr Duration kTell = 5ms;
  static constexpr Duration kBack = 20ms;
  static constexpr Duration kClocksDiffer = -7s;

  void send() {
    const Time now = scheduler_.now();
    if (pacer_.admits(now)) {
      std::array<std::byte, kPacingPacket> packet{};
      const std::int64_t at = now.time_since_epoch().count();
      std::memcpy(packet.data(), &at, sizeof at);
      path_.send(packet, wire::kEcnCapable);
      ++sent_;
      pacer_.sent(kPacingPacket, true, now);
    }
    scheduler_.at(std::max(now, pacer_.next()), [this] { send(); });
  }

  void arrive(const std::vector<std::byte>& packet, std::uint8_t traffic_class) {
    std::int64_t sent_at = 0;
    std::memcpy(&sent_at, packet.data(), sizeof sent_at);
    const Duration took = scheduler_.now().time_since_epoch() - Duration(sent_at);
    arrived_ += packet.size();
    longest_ = std::max(longest_, took);
    saw_.bytes += packet.size();
    ++saw_.packets;
    if (traffic_class == wire::kCongestionExperienced) ++saw_.marked;
    saw_.delay = std::min(took + kClocksDiffer, saw_.delay.value_or(Duration::max()));
  }

  void tell() {
    PathFeedback told = saw_;
    told.round_trip = 45ms;
    const std::uint64_t lost = path_.model().counters().get(PathCounter::kLost) + dropped();
    told.lost = lost - lost_;
    lost_ = lost;
    saw_ = {};
    if (!silent_) {
      scheduler_.after(kBack, [this, told] { pacer_.feedback(told, scheduler_.now()); });
    }
    scheduler_.after(kTell, [this] { tell(); });
  }

  sim::Scheduler scheduler_;
  sim::WanPath path_;
  Pacer pacer_;
  PathFeedback saw_;
  std::uint64_t sent_ = 0, lost_ = 0, arrived_ = 0;
  Duration longest_{};
  bool silent_ = false;
};

constexpr PacingSettings kAdapting{.adapt = true};

TEST(Pacer, LeavesGapsForTheUsersRate) {
  Pacer pacer({.most_bytes_per_s = 1'000'000'000}, Time(1s));
  EXPECT_EQ(pacer.rate(), 1'000'000'000u);
  EXPECT_EQ(pacer.run(), 50'000u);
  EXPECT_TRUE(pacer.admits(Time(1s)));
  pacer.sent(4096, true, Time(1s));
  // What is sent late is made up for, by a millisecond at most.
  EXPECT_EQ(pacer.next(), Time(1s) + 4096ns);
  EXPECT_FALSE(pacer.admits(Time(1s) + 4095ns));
  pacer.sent(4096, true, Time(2s));
  EXPECT_EQ(pacer.next(), Time(2s) - 1ms + 4096ns);
}

TEST(Pacer, LetsEverythingGoWhereThereIsNoLimit) {
  Pacer pacer({}, Time(1s));
  EXPECT_EQ(pacer.rate(), std::nullopt);
  pacer.sent(1'000'000'000, true, Time(1s));
  EXPECT_TRUE(pacer.admits(Time(1s)));
}

TEST(Pacer, SendsNoFasterThanTheUserWants) {
  Flow flow({.most_bytes_per_s = 50'000'000}, "rate=10Gb/s,delay=20ms");
  flow.run_for(1s);
  flow.run_for(2s);
  EXPECT_LE(flow.arrived(), 100'000'000u + 60'000u);  // and what a late start makes up for
  EXPECT_GE(flow.arrived(), 99'900'000u);
}

TEST(Pacer, FillsAPathThatItDoesNotKnowAndKeepsItsQueueShort) {
  Flow flow(kAdapting, "rate=1Gb/s,delay=20ms,queue=20MB");
  flow.run_for(5s);
  const std::uint64_t dropped = flow.dropped();
  flow.run_for(5s);
  EXPECT_GE(flow.arrived(), 0.9 * 5 * 125e6);
  EXPECT_LE(flow.longest_delay(), 20ms + 12ms);
  EXPECT_EQ(flow.dropped(), dropped);
}

// The shortest delay is found again and again, in spite of the queue that the sender itself keeps.
TEST(Pacer, KeepsItsQueueShortForAsLongAsItSends) {
  Flow flow(kAdapting, "rate=100Mb/s,delay=20ms,queue=20MB");
  flow.run_for(60s);
  flow.run_for(20s);
  EXPECT_GE(flow.arrived(), 0.9 * 20 * 12.5e6);
  EXPECT_LE(flow.longest_delay(), 20ms + 20ms);  // of 1.6 s that would find room
}

TEST(Pacer, GivesWayToMarksBeforeAnythingIsDropped) {
  // It would bear any queue.
  Flow flow({.adapt = true, .queue = 10s}, "rate=1Gb/s,delay=20ms,queue=20MB,mark=200kB");
  flow.run_for(5s);
  flow.run_for(5s);
  EXPECT_GE(flow.arrived(), 0.85 * 5 * 125e6);
  EXPECT_LE(flow.longest_delay(), 20ms + 15ms);
  EXPECT_EQ(flow.dropped(), 0u);
}

TEST(Pacer, FollowsAPathThatBecomesNarrowAndWideAgain) {
  Flow flow(kAdapting, "rate=1Gb/s,delay=20ms,queue=50MB");
  flow.run_for(5s);
  flow.change("rate=200Mb/s,delay=20ms,queue=50MB");
  flow.run_for(3s);
  flow.run_for(3s);
  EXPECT_GE(flow.arrived(), 0.85 * 3 * 25e6);
  EXPECT_LE(flow.longest_delay(), 20ms + 15ms);
  flow.change("rate=1Gb/s,delay=20ms,queue=50MB");
  flow.run_for(4s);
  flow.run_for(3s);
  EXPECT_GE(flow.arrived(), 0.85 * 3 * 125e6);
}

TEST(Pacer, DoesNotGiveWayToLossThatIsNobodysFault) {
  Flow flow(kAdapting, "rate=1Gb/s,delay=20ms,queue=20MB,loss=0.5%");
  flow.run_for(5s);
  flow.run_for(5s);
  EXPECT_GE(flow.arrived(), 0.9 * 0.995 * 5 * 125e6);
}

TEST(Pacer, StaysBelowTheUsersLimitWhileItAdapts) {
  Flow flow({.most_bytes_per_s = 50'000'000, .adapt = true}, "rate=1Gb/s,delay=20ms");
  flow.run_for(3s);
  EXPECT_EQ(flow.pacer().rate(), 50'000'000u);
}

// What is due while the process did not run is read in one go.
TEST(Pacer, TakesReportsThatComeTogetherForNoFasterPath) {
  constexpr std::uint64_t kFirst = 1'000'000;
  for (const auto apart : std::to_array<Duration>({0ns, 1ns, 100us})) {
    Time now{1s};
    Pacer pacer({.adapt = true, .first_bytes_per_s = kFirst}, now);
    pacer.sent(1000, true, now);
    const auto report = [&](Duration delay) {
      pacer.feedback({.bytes = 20'000, .packets = 20, .delay = delay, .round_trip = 20ms}, now);
      EXPECT_LE(pacer.rate().value(), 4 * kFirst) << apart.count();
    };
    now += 20ms;
    report(1ms);
    EXPECT_EQ(pacer.rate(), 2 * kFirst);
    for (int i = 0; i < 20; ++i) {
      now += apart;
      report(20ms);
    }
  }
}

// Half of the time it had no processor, and the queue of a moment later is there all the same.
TEST(Pacer, DoesNotTakeItsOwnGapsForThePath) {
  for (const bool gaps : {false, true}) {
    constexpr std::uint64_t kFirst = 10'000'000;
    Time now{1s};
    Pacer pacer({.adapt = true, .first_bytes_per_s = kFirst}, now);
    const auto round = [&](Duration delay, std::uint64_t bytes) {
      for (int i = 0; i < 20; ++i) {
        if (!gaps || i < 10) pacer.sent(*pacer.rate() / 1000, true, now);
        now += 1ms;
      }
      pacer.feedback({.bytes = bytes, .packets = 20, .delay = delay, .round_trip = 20ms}, now);
    };
    round(1ms, 100'000);
    round(7ms, 100'000);
    round(4ms, 100'000);
    if (gaps) {
      EXPECT_GE(*pacer.rate(), kFirst * 8 / 10);
    } else {
      EXPECT_LE(*pacer.rate(), 6'000'000u) << "so much arrives";
    }
  }
}

// A queue that is just as long as it should be, at the moment in which a round has begun.
TEST(Pacer, MakesNothingOfARoundThatHasNotLasted) {
  Time now{1s};
  Pacer pacer({.adapt = true, .first_bytes_per_s = 8000, .least_bytes_per_s = 1000}, now);
  pacer.sent(160, true, now);
  now += 20ms;
  const PathFeedback first{.bytes = 160, .packets = 1, .delay = 1ms, .round_trip = 20ms};
  pacer.feedback(first, now);
  ASSERT_EQ(pacer.rate(), 16'000u);
  pacer.sent(160, true, now);
  PathFeedback second = first;
  second.delay = 4750us;
  pacer.feedback(second, now);
  EXPECT_EQ(pacer.rate(), 16'000u);
}

TEST(Pacer, SlowsDownWhileItHearsNothing) {
  Flow flow(kAdapting, "rate=1Gb/s,delay=20ms");
  flow.run_for(3s);
  const auto rate = *flow.pacer().rate();
  flow.be_silent();
  flow.run_for(5s);
  EXPECT_LE(*flow.pacer().rate(), rate / 8);
  flow.run_for(20s);
  EXPECT_EQ(*flow.pacer().rate(), PacingSettings{}.least_bytes_per_s);
}

}  // namespace
}  // namespace weft::wan
