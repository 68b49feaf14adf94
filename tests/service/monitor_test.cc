// SPDX-License-Identifier: Apache-2.0
#include "service/monitor/monitor.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime_fixture.h"
#include "service/capture/capture.h"
#include "service_world.h"
#include "sim/seeds.h"

namespace weft::service::test {
namespace {

TEST(SpaceSaving, KnowsTheHeaviestWithinItsBound) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    constexpr std::size_t kCapacity = 64;
    SpaceSaving<std::uint64_t> sketch(kCapacity);
    std::map<std::uint64_t, std::uint64_t> truth;
    for (int i = 0; i < 50'000; ++i) {
      // Some are heavy, most come once.
      const std::uint64_t key = random.chance(0.6) ? random.below(20) : random.next();
      const std::uint64_t weight = random.between(20, 4'200);
      sketch.add(key, weight);
      truth[key] += weight;
    }
    const std::uint64_t bound = sketch.total() / kCapacity;
    std::map<std::uint64_t, std::uint64_t> counted;
    std::uint64_t before = ~std::uint64_t{0};
    for (const auto& counter : sketch.top(kCapacity)) {
      ASSERT_GE(counter.count, truth[counter.key]);
      ASSERT_LE(counter.count - counter.error, truth[counter.key]);
      ASSERT_LE(counter.error, bound);
      ASSERT_LE(counter.count, before);
      before = counter.count;
      counted[counter.key] = counter.count;
    }
    ASSERT_EQ(sketch.size(), kCapacity);
    for (const auto& [key, weight] : truth) {
      ASSERT_TRUE(weight <= bound || counted.contains(key)) << key;
    }
  }
}

class MonitorTest : public RuntimeTest {
 protected:
  MonitorTest() {
    runtime->set_chain(kService, {.services = {&monitor}});
    runtime->pin_path(b, {.dlid = kB});
    runtime->pin_path(a, {.dlid = kA});
  }
  Monitor monitor{{.flows = 16, .talkers = 4}};
};

TEST_F(MonitorTest, CountsFlowsTalkersAndRates) {
  runtime->run(now);
  for (int i = 0; i < 30; ++i)
    through(from_a({}));
  through(from_b({}));
  const std::size_t size = make(from_a({})).size();
  const auto flows = monitor.top_flows(10);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].key, (FlowName{a, b, Qpn{0x123456}}));
  EXPECT_EQ(flows[0].count, 30 * size);
  EXPECT_EQ(flows[0].error, 0u);
  EXPECT_EQ(monitor.top_talkers(1)[0].key, a);
  ASSERT_EQ(runtime->deadline(), now + 1s);
  now += 2s;
  runtime->run(now);
  EXPECT_EQ(monitor.rate().packets_per_s, 15u);
  EXPECT_EQ(monitor.rate().bytes_per_s, 31 * size / 2);
}

TEST_F(MonitorTest, StaysWithinItsBounds) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    Made made = from_a({});
    made.bth.dest_qp = Qpn{100 + i};
    made.gids->first = gid(static_cast<std::uint16_t>(i));
    through(made);
  }
  EXPECT_EQ(monitor.top_flows(1000).size(), 16u);
  EXPECT_EQ(monitor.top_talkers(1000).size(), 4u);
}

// What the simulator knows of each request packet: when it was shown to services, when it came to
// its responder, and when the acknowledgement left there.
class Truth {
 public:
  explicit Truth(double reorder, std::uint64_t seed)
      : before_([this](Packet& packet) { return before(packet); }),
        after_([this](Packet& packet) { return after(packet); }),
        world_({.seed = seed,
                .loss = 0.01,
                .reorder = reorder,
                .services = {&before_, &monitor_, &after_}}) {
    world_.on_received = [this](int end, Bytes packet) {
      const Fields fields = Fields::parse(packet);
      if (end == 1 && !fields.response) arrived_.try_emplace(fields.psn.value(), world_.now());
    };
    world_.on_sent = [this](int end, Bytes packet) {
      const Fields fields = Fields::parse(packet);
      if (end == 1 && fields.operation == wire::Operation::acknowledge) {
        left_[fields.psn.value()].push_back(world_.now());
      }
    };
  }

  void run() {
    for (const std::string& wrong : world_.run())
      ADD_FAILURE() << wrong;
  }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

 private:
  Verdict before(Packet& packet) {
    const Fields& fields = packet.fields();
    const bool request = fields.sgid == gid(0xAAAA) && fields.dest_qp == Qpn{0xB000};
    if (request && !fields.response) shown_.try_emplace(fields.psn.value(), world_.now());
    return Verdict::forward();
  }
  Verdict after(Packet& packet) {
    const Fields& fields = packet.fields();
    const auto latency = monitor_.latency({gid(0xAAAA), gid(0xBBBB), Qpn{0xB000}});
    if (!latency || latency->samples == samples_) return Verdict::forward();
    EXPECT_EQ(latency->samples, samples_ + 1);
    samples_ = latency->samples;
    const std::uint32_t psn = fields.psn.value();
    const Duration there = arrived_.at(psn) - shown_.at(psn);
    // The acknowledgement is one of those of this PSN; which one, the simulator need not know.
    bool explained = false;
    for (const Time left : left_.at(psn))
      explained = explained || there + (world_.now() - left) == latency->last;
    EXPECT_TRUE(explained) << "PSN " << psn << ": " << latency->last.count() << " ns";
    return Verdict::forward();
  }

  Scripted before_;
  Monitor monitor_{{}};
  Scripted after_;
  ServiceWorld world_;
  std::map<std::uint32_t, Time> shown_;
  std::map<std::uint32_t, Time> arrived_;
  std::map<std::uint32_t, std::vector<Time>> left_;
  std::uint64_t samples_ = 0;
};

TEST(MonitorInSimulation, LatencyIsTheWayThereAndBackExactly) {
  std::uint64_t samples = 0;
  for (const std::uint64_t seed : sim::seeds(20)) {
    SCOPED_TRACE(
        sim::how_to_replay(seed, "MonitorInSimulation.LatencyIsTheWayThereAndBackExactly"));
    Truth truth(seed % 2 == 0 ? 0.05 : 0, seed);
    truth.run();
    samples += truth.samples();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(samples, 100u);
}

class Files final : public CaptureRing {
 public:
  bool begin(std::size_t file) override {
    if (fails) return false;
    open = file;
    kept[file].clear();
    return true;
  }
  bool write(Bytes packet, const Arrival&, Time) override {
    kept[open].emplace_back(packet.begin(), packet.end());
    return true;
  }
  bool flush() override {
    ++flushed;
    return !loses;
  }
  bool fails = false;
  bool loses = false;
  std::size_t flushed = 0;
  std::size_t open = 0;
  std::map<std::size_t, std::vector<Buffer>> kept;
};

class CaptureTest : public RuntimeTest {
 protected:
  void capture(const Capture::Options& options) {
    service = std::make_unique<Capture>(options, files);
    runtime->set_chain(kService, {.services = {service.get()}});
    runtime->pin_path(b, {.dlid = kB});
  }
  Buffer pass(std::uint32_t psn) {
    Made made = from_a({});
    made.bth.psn = Psn{psn};
    through(made);
    return make(made);
  }
  Files files;
  std::unique_ptr<Capture> service;
};

TEST_F(CaptureTest, KeepsTheNewestPacketsInFilesThatAreUsedInTurn) {
  const std::uint64_t size = make(from_a({})).size();
  capture({.files = 3, .bytes_each = 2 * size});
  std::vector<Buffer> all;
  for (std::uint32_t psn = 0; psn < 9; ++psn)
    all.push_back(pass(psn));
  ASSERT_EQ(files.kept.size(), 3u);
  EXPECT_EQ(files.kept[1],
            (std::vector<Buffer>{all[8]}));  // the fifth file, in place of the second
  EXPECT_EQ(files.kept[2], (std::vector<Buffer>{all[4], all[5]}));
  EXPECT_EQ(files.kept[0], (std::vector<Buffer>{all[6], all[7]}));
}

TEST_F(CaptureTest, BeginsAnotherFileWhenItsTimeIsOver) {
  capture({.files = 2, .time_each = 10s});
  pass(1);
  now += 10s;
  pass(2);
  EXPECT_EQ(files.kept.size(), 2u);
}

TEST_F(CaptureTest, CountsWhatItCouldNotKeepAndTriesTheNextFile) {
  const std::uint64_t size = make(from_a({})).size();
  capture({.files = 2, .bytes_each = size});
  files.fails = true;
  pass(1);
  files.fails = false;
  pass(2);
  EXPECT_EQ(service->counters()[3].value, 1u);
  EXPECT_EQ(service->counters()[0].value, 1u);
}

TEST_F(CaptureTest, FlushesSoonAndSaysWhatMayBeMissing) {
  capture({.flush_after = 200ms});
  EXPECT_EQ(service->deadline(), std::nullopt);
  const Time first = now;
  pass(1);
  now += 100ms;
  pass(2);
  EXPECT_EQ(service->deadline(), first + 200ms);
  runtime->run(first + 100ms);
  EXPECT_EQ(files.flushed, 0u);
  now = first + 200ms;
  runtime->run(now);
  EXPECT_EQ(files.flushed, 1u);
  EXPECT_EQ(service->deadline(), std::nullopt);
  EXPECT_EQ(service->counters()[3].value, 0u);
  files.loses = true;
  pass(3);
  pass(4);
  EXPECT_EQ(service->deadline(), now + 200ms);
  runtime->run(now + 200ms);
  EXPECT_EQ(service->counters()[3].value, 2u);
}

TEST_F(CaptureTest, FlushesAFileBeforeTheNextOneBegins) {
  const std::uint64_t size = make(from_a({})).size();
  capture({.files = 2, .bytes_each = size});
  pass(1);
  pass(2);
  EXPECT_EQ(files.flushed, 1u);
}

TEST_F(CaptureTest, KeepsOnlyWhatIsWanted) {
  capture({.wanted = [](const Fields& fields) { return fields.psn == Psn{2}; }});
  pass(1);
  const Buffer wanted = pass(2);
  EXPECT_EQ(files.kept[0], (std::vector<Buffer>{wanted}));
}

}  // namespace
}  // namespace weft::service::test
