// SPDX-License-Identifier: Apache-2.0
#include "wan/path_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::wan {
namespace {

constexpr Time kPathModelStart{1s};

PathEmulation path(std::string_view list) {
  const auto emulation = parse_path_emulation(list, {});
  EXPECT_TRUE(emulation) << emulation.error().message;
  return emulation.value_or(PathEmulation{});
}

std::string refusal(std::string_view list) {
  const auto emulation = parse_path_emulation(list, {});
  EXPECT_FALSE(emulation) << list;
  return emulation ? "" : emulation.error().message;
}

std::uint64_t count(const PathModel& model, PathCounter counter) {
  return model.counters().get(counter);
}

TEST(PathEmulation, ReadsWhatALinkHasAndWhatAWanHasBesides) {
  const PathEmulation emulation = path(
      "rate=10Gb/s,delay=50ms,jitter=1ms,loss=0.1%,queue=60MB,mark=1MiB,mtu=1500,late=2ms,"
      "flap=10s,seed=7");
  EXPECT_EQ(emulation.line.rate_bytes_per_s, 1'250'000'000u);
  EXPECT_EQ(emulation.line.delay, 50ms);
  EXPECT_EQ(emulation.line.flap, 10s);
  EXPECT_EQ(emulation.line.seed, 7u);
  EXPECT_DOUBLE_EQ(emulation.line.loss, 0.001);
  EXPECT_EQ(emulation.jitter, 1ms);
  EXPECT_EQ(emulation.late, 2ms);
  EXPECT_EQ(emulation.queue, 60'000'000u);
  EXPECT_EQ(emulation.mark, 1'048'576u);
  EXPECT_EQ(emulation.mtu, 1500u);
}

TEST(PathEmulation, IsWrittenSoThatItReadsBackTheSame) {
  for (const char* list :
       {"", "delay=50ms", "jitter=1ms", "rate=10Gb/s,delay=50ms,loss=0.001,queue=60MB,mark=1MiB",
        "mtu=1500", "reorder=0.01,late=2ms", "flap=10s,outage=500ms,seed=2"}) {
    EXPECT_EQ(to_string(path(list)), list);
  }
  EXPECT_EQ(path("none"), PathEmulation{});
}

TEST(PathEmulation, RefusesWithTheWordAndTheChoices) {
  EXPECT_EQ(refusal("credit_loss=1%"),
            "credit_loss=1%: there is no such setting; there are rate, delay, loss, bit_errors, "
            "duplicate, reorder, flap, outage, seed, jitter, late, queue, mark, mtu");
  EXPECT_EQ(refusal("delay=2ms,jitter=3"),
            "jitter=3: must be a time of at most 3600s, as in 500us or 2ms");
  EXPECT_EQ(refusal("delay=3601s"), "delay=3601s: must be at most 3600s");
  EXPECT_EQ(refusal("queue=7"), "queue=7: must be a size of at most 1024GiB, as in 64KiB or 60MB");
  for (const char* list : {"mtu=0", "mtu=65536", "mtu=x", "mtu=-1", "mtu=nan", "mtu"}) {
    EXPECT_NE(refusal(list).find("must be a number of bytes from 1 to 65535"), std::string::npos);
  }
}

TEST(PathEmulation, KnowsHowMuchIsUnderWayAtMost) {
  EXPECT_EQ(most_under_way(path("rate=10Gb/s,delay=1s,queue=1MB")), 1'251'000'000u);
  EXPECT_EQ(most_under_way(path("rate=10Gb/s,delay=1s,jitter=1s,queue=1MB")), 2'501'000'000u);
  EXPECT_EQ(most_under_way(path("rate=8Mb/s,delay=1s,duplicate=1%,queue=1MB")), 3'000'000u);
  EXPECT_EQ(most_under_way(path("delay=1s")), 0u);
  EXPECT_EQ(queue_of(path("rate=8Gb/s")), 50'000'000u);
  EXPECT_EQ(queue_of(path("rate=8kb/s")), 65'535u);
}

TEST(PathModel, CarriesAsFastAsItsLineAndWithItsDelay) {
  PathModel model(path("rate=8Mb/s,delay=5ms"), kPathModelStart);  // a byte in a microsecond
  EXPECT_EQ(model.carry(1000, false, kPathModelStart).arrives, kPathModelStart + 6ms);
  EXPECT_EQ(model.carry(500, false, kPathModelStart).arrives, kPathModelStart + 6ms + 500us);
  EXPECT_EQ(model.waiting(kPathModelStart), 1500u);
  EXPECT_EQ(model.carry(1000, false, kPathModelStart + 10ms).arrives, kPathModelStart + 16ms);
  PathModel ideal(path("none"), kPathModelStart);
  EXPECT_EQ(ideal.carry(65'535, false, kPathModelStart).arrives, kPathModelStart);
}

TEST(PathModel, DropsWhatFindsTheQueueFullAndNothingElse) {
  PathModel model(path("rate=8Mb/s,queue=2500B"), kPathModelStart);
  int carried = 0;
  for (int i = 0; i < 10; ++i)
    carried += model.carry(1000, false, kPathModelStart).arrives ? 1 : 0;
  EXPECT_EQ(carried, 2);
  EXPECT_EQ(count(model, PathCounter::kQueueFull), 8u);
  EXPECT_TRUE(model.carry(1000, false, kPathModelStart + 500us).arrives);
  // One packet always has room, however small the queue.
  PathModel small(path("rate=8Mb/s,queue=10B"), kPathModelStart);
  EXPECT_TRUE(small.carry(1000, false, kPathModelStart).arrives);
  EXPECT_FALSE(small.carry(1000, false, kPathModelStart).arrives);
}

TEST(PathModel, MarksWhatIsCapableOfEcnWhenMuchWaits) {
  PathModel model(path("rate=8Mb/s,queue=1MB,mark=1500B"), kPathModelStart);
  EXPECT_FALSE(model.carry(1000, true, kPathModelStart).marked);
  EXPECT_FALSE(model.carry(1000, true, kPathModelStart).marked);
  EXPECT_TRUE(model.carry(1000, true, kPathModelStart).marked);
  EXPECT_FALSE(model.carry(1000, false, kPathModelStart).marked);
  EXPECT_EQ(count(model, PathCounter::kMarked), 1u);
}

TEST(PathModel, DropsWhatIsLongerThanItsMtu) {
  PathModel model(path("mtu=1500"), kPathModelStart);
  EXPECT_TRUE(model.carry(1500, false, kPathModelStart).arrives);
  EXPECT_FALSE(model.carry(1501, false, kPathModelStart).arrives);
  EXPECT_EQ(count(model, PathCounter::kTooLong), 1u);
}

// Five standard deviations of what a right model does once in two million runs; the seed is fixed.
TEST(PathModel, LosesDoublesReordersAndDamagesAsOftenAsItIsAskedTo) {
  PathModel model(path("loss=2%,duplicate=1%,reorder=3%,bit_errors=1e-6,seed=42"), kPathModelStart);
  constexpr int kPackets = 100'000;
  for (int i = 0; i < kPackets; ++i)
    (void)model.carry(1250, false, kPathModelStart + i * 1us);
  EXPECT_NEAR(static_cast<double>(count(model, PathCounter::kLost)), 2000, 222);
  EXPECT_NEAR(static_cast<double>(count(model, PathCounter::kDuplicated)), 980, 156);
  EXPECT_NEAR(static_cast<double>(count(model, PathCounter::kReordered)), 2940, 268);
  EXPECT_NEAR(static_cast<double>(count(model, PathCounter::kDamaged)), 980, 156);
}

TEST(PathModel, MakesPacketsLateByJitterAndKeepsTheirOrder) {
  PathModel model(path("delay=10ms,jitter=4ms,seed=3"), kPathModelStart);
  Time last{};
  double sum = 0;
  constexpr int kPackets = 10'000;
  for (int i = 0; i < kPackets; ++i) {
    const Time now =
        kPathModelStart + i * 20ms;  // far enough from each other to draw by themselves
    const Time arrives = *model.carry(100, false, now).arrives;
    EXPECT_GE(arrives, last);
    EXPECT_GE(arrives - now, 10ms);
    EXPECT_LE(arrives - now, 14ms);
    sum += std::chrono::duration<double, std::milli>(arrives - now).count();
    last = arrives;
  }
  EXPECT_NEAR(sum / kPackets, 12, 0.06);  // five deviations of the mean of a uniform one
  const Time begin = last;
  for (int i = 0; i < kPackets; ++i) {  // close to each other: never out of order
    const Time arrives = *model.carry(100, false, begin + i * 1us).arrives;
    EXPECT_GE(arrives, last);
    last = arrives;
  }
}

TEST(PathModel, LetsOthersOvertakeWhatItReorders) {
  PathModel model(path("delay=1ms,reorder=50%,late=500us,seed=5"), kPathModelStart);
  std::vector<std::pair<Time, int>> arrivals;
  for (int i = 0; i < 1000; ++i) {
    const Time now = kPathModelStart + i * 10us;
    const auto fate = model.carry(100, false, now);
    EXPECT_LE(*fate.arrives, now + 1ms + 501us);
    EXPECT_EQ(fate.overtaken, *fate.arrives > now + 1ms);
    arrivals.emplace_back(*fate.arrives, i);
  }
  EXPECT_FALSE(std::is_sorted(arrivals.begin(), arrivals.end()));
}

TEST(PathModel, LosesEverythingWhileItIsOut) {
  PathModel model(path("flap=1s,outage=200ms,seed=11"), kPathModelStart);
  int lost = 0;
  constexpr int kPackets = 240'000;  // 1 ms apart: outages take a sixth of the time
  for (int i = 0; i < kPackets; ++i)
    lost += model.carry(100, false, kPathModelStart + i * 1ms).arrives ? 0 : 1;
  EXPECT_EQ(count(model, PathCounter::kOutage), static_cast<std::uint64_t>(lost));
  EXPECT_NEAR(lost, kPackets / 6, kPackets / 60);
}

TEST(PathModel, DoesTheSameFromTheSameSeedAndOtherwiseFromAnother) {
  const auto fates = [](std::string_view list) {
    PathModel model(path(list), kPathModelStart);
    std::string out;
    for (int i = 0; i < 1000; ++i) {
      const auto fate = model.carry(500, false, kPathModelStart + i * 3us);
      out += fate.arrives ? std::to_string(fate.arrives->time_since_epoch().count()) : "-";
    }
    return out;
  };
  EXPECT_EQ(fates("loss=10%,jitter=1ms,seed=1"), fates("loss=10%,jitter=1ms,seed=1"));
  EXPECT_NE(fates("loss=10%,jitter=1ms,seed=1"), fates("loss=10%,jitter=1ms,seed=2"));
}

TEST(PathModel, KeepsTheOrderWhenItIsChangedMeanwhile) {
  PathModel model(path("rate=8Mb/s,delay=100ms"), kPathModelStart);
  const Time first = *model.carry(1000, false, kPathModelStart).arrives;
  model.change(path("delay=1ms"), kPathModelStart);
  EXPECT_GE(*model.carry(1000, false, kPathModelStart).arrives, first);
  EXPECT_EQ(*model.carry(1000, false, kPathModelStart + 1s).arrives, kPathModelStart + 1s + 1ms);
}

TEST(PathModel, LosesNothingOfAStreamAndLetsItWaitForTheLine) {
  PathModel model(path("rate=8Mb/s,delay=5ms,loss=50%,queue=2000B,flap=1s,outage=1s,seed=1"),
                  kPathModelStart);
  Time last{};
  Time now = kPathModelStart;
  for (int i = 0; i < 20'000; ++i) {
    now = std::max(now, model.stream_ready());
    const auto fate = model.carry_stream(1000, now);
    ASSERT_TRUE(fate.arrives);
    EXPECT_GE(*fate.arrives, last);
    EXPECT_FALSE(fate.again);
    EXPECT_LE(model.waiting(now), 3000u + 1'000'000u);  // what an outage keeps back, at the most
    last = *fate.arrives;
  }
  // 20 s of line, and about as long again of outages.
  EXPECT_GT(now - kPathModelStart, 30s);
  EXPECT_LT(now - kPathModelStart, 60s);
}

}  // namespace
}  // namespace weft::wan
