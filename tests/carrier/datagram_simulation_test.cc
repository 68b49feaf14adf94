// SPDX-License-Identifier: Apache-2.0
// Links by datagrams in any weather, under seeds: order is kept, nothing comes twice, no credit is
// exceeded, what is missing is counted, and with good weather every link comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "datagram_world.h"
#include "sim/seeds.h"

namespace weft::carrier {
namespace {

using link::PortCounter;

std::string replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

Weather some_weather(Random& random) {
  Weather weather;
  weather.delay = Duration(static_cast<std::int64_t>(random.below(3'000'000)));
  if (random.chance(0.5))
    weather.jitter = Duration(static_cast<std::int64_t>(random.below(500'000)));
  if (random.chance(0.5)) weather.loss = 0.1;
  if (random.chance(0.2)) weather.loss = 0.5;
  if (random.chance(0.4)) weather.duplicate = 0.1;
  return weather;
}

class Scene {
 public:
  explicit Scene(std::uint64_t seed)
      : random_(seed),
        world_(random_.next(), random_.between(1, 3), {.vl_buffer = 128}),
        sent_(world_.rigs.size()) {}

  void act() {
    const std::size_t link = random_.below(world_.rigs.size());
    const std::size_t side = random_.below(2);
    HalfLinks& rig = world_.rig(link);
    switch (random_.below(12)) {
      case 0:
        world_.weather = some_weather(random_);
        break;
      case 1:
        (side == 0 ? rig.left : rig.right).set_plugged(random_.chance(0.5), world_.now());
        break;
      case 2:
        if (random_.chance(0.3)) world_.kill_and_restart(side);
        break;
      case 3:
        world_.stop(side, random_.chance(0.3));
        break;
      case 4:
        world_.inject(side, noise());
        break;
      case 5: {
        link::Station& to = side == 0 ? rig.a : rig.b;
        to.keep = random_.chance(0.3);
        if (!to.keep) to.kept.clear();
        break;
      }
      default:
        send(link);
    }
    manage();
    world_.run_for(Duration(static_cast<std::int64_t>(random_.below(50'000'000))));
  }

  // What the links still owe comes, and then all is as at the beginning.
  void end() {
    world_.weather = {};
    for (std::size_t side = 0; side < 2; ++side)
      world_.stop(side, false);
    for (const auto& rig : world_.rigs) {
      rig->left.set_plugged(true, world_.now());
      rig->right.set_plugged(true, world_.now());
      for (link::Station* const each : {&rig->a, &rig->b}) {
        each->keep = false;
        each->kept.clear();
      }
    }
    world_.run_for(10s);
    ASSERT_TRUE(world_.activate()) << "a link has not come back";
    world_.run_for(5s);
    for (std::size_t link = 0; link < world_.rigs.size(); ++link)
      check_traffic(link);
  }

  void check() const {
    for (std::size_t link = 0; link < world_.rigs.size(); ++link) {
      const HalfLinks& rig = *world_.rigs[link];
      check_order(rig.a);
      check_order(rig.b);
      EXPECT_EQ(rig.pool.in_use(), 0);
      const auto lost = [](const link::Port& port, std::initializer_list<PortCounter> reasons) {
        std::uint64_t sum = 0;
        for (const PortCounter reason : reasons)
          sum += link::count(port, reason);
        return sum;
      };
      for (const link::Station* const each : {&rig.a, &rig.b}) {
        EXPECT_EQ(link::count(each->port, PortCounter::kRxOverrun), 0) << "a credit was exceeded";
        EXPECT_EQ(lost(each->port, {PortCounter::kRxBadVcrc, PortCounter::kRxMalformed,
                                    PortCounter::kRxBadLpcrc, PortCounter::kRxBadLinkPacket}),
                  0);
      }
    }
  }

 private:
  std::vector<std::byte> noise() {
    std::vector<std::byte> out(random_.below(60));
    for (std::byte& byte : out)
      byte = std::byte(static_cast<std::uint8_t>(random_.next()));
    // Half of it looks like what it is not.
    if (random_.chance(0.5) && out.size() >= 4) {
      out[0] = std::byte{'W'};
      out[1] = std::byte{'L'};
      out[2] = std::byte{1};
      out[3] = std::byte(static_cast<std::uint8_t>(random_.between(1, 5)));
    }
    return out;
  }
  void send(std::size_t link) {
    HalfLinks& rig = world_.rig(link);
    const std::uint64_t count = random_.between(1, 30);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t payload = random_.below(64) * 4;
      const Vl vl{static_cast<std::uint8_t>(random_.below(2))};
      link::Station& from = random_.chance(0.5) ? rig.a : rig.b;
      rig.send(from, {.vl = vl, .payload = payload, .number = number(link, vl)});
    }
  }
  // So that the order of each lane can be read from what arrives.
  std::uint32_t number(std::size_t link, Vl vl) {
    return static_cast<std::uint32_t>(++sent_[link] << 1 | vl.value());
  }
  void manage() {
    for (const auto& rig : world_.rigs) {
      for (link::Station* const each : {&rig->a, &rig->b}) {
        each->port.set_state(PortState::kArmed, world_.now());
        each->port.set_state(PortState::kActive, world_.now());
      }
    }
  }
  static void check_order(const link::Station& station) {
    std::array<std::uint32_t, 2> last{};
    for (const std::uint32_t number : station.numbers) {
      EXPECT_GT(number, last[number & 1]) << "overtaken, or delivered twice";
      last[number & 1] = std::max(last[number & 1], number);
    }
  }
  // In good weather all of it arrives, however it was before.
  void check_traffic(std::size_t link) {
    HalfLinks& rig = world_.rig(link);
    const std::size_t before = rig.b.numbers.size();
    for (int i = 0; i < 200; ++i)
      rig.send(rig.a, {.payload = 256, .number = number(link, Vl{0})});
    world_.run_for(5s);
    EXPECT_EQ(rig.b.numbers.size(), before + 200);
  }

  Random random_;
  DatagramWorld world_;
  std::vector<std::uint64_t> sent_;
};

TEST(DatagramSimulation, KeepsOrderAndCreditsInAnyWeatherAndComesBack) {
  for (const std::uint64_t seed : sim::seeds(60)) {
    SCOPED_TRACE(replay(seed));
    Scene scene(seed);
    for (int action = 0; action < 150; ++action)
      scene.act();
    scene.end();
    scene.check();
    if (::testing::Test::HasFailure()) return;
  }
}

// What one end sent in a connection that lasts either arrived or is counted at the other.
TEST(DatagramSimulation, CountsWhatIsMissing) {
  for (const std::uint64_t seed : sim::seeds(30)) {
    SCOPED_TRACE(replay(seed));
    Random random(seed);
    DatagramWorld world(random.next());
    ASSERT_TRUE(world.activate());
    world.weather = {.loss = 0.1, .duplicate = 0.05, .delay = 1ms, .jitter = 300us};
    for (std::uint32_t i = 0; i < 300; ++i) {
      world.rig().send(world.rig().a, {.number = i + 1});
      world.run_for(Duration(static_cast<std::int64_t>(random.below(1'000'000))));
    }
    world.weather = {};
    world.run_for(1s);
    world.rig().send(world.rig().a, {.number = 1000});
    world.run_for(1s);
    const auto& sender = world.channel(0).counters();
    const auto& receiver = world.channel(1).counters();
    EXPECT_EQ(world.channel(1).counters().get(DatagramCounter::kConnections), 1);
    EXPECT_EQ(sender.get(DatagramCounter::kSent),
              receiver.get(DatagramCounter::kArrived) + receiver.get(DatagramCounter::kMissing));
    EXPECT_LE(receiver.get(DatagramCounter::kLate), receiver.get(DatagramCounter::kMissing));
    EXPECT_GT(receiver.get(DatagramCounter::kLate), 0);
    EXPECT_GT(receiver.get(DatagramCounter::kDuplicate), 0);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::carrier
