// SPDX-License-Identifier: Apache-2.0
// Hosts that connect to each other, talk a while and part, on networks as bad as a seed likes.
#include <gtest/gtest.h>

#include <map>

#include "cm_world.h"
#include "sim/seeds.h"

namespace weft::mgmt {
namespace {

using namespace test;

std::string replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

CmFaults some_faults(Random& random, double most_loss) {
  return {.loss = most_loss * static_cast<double>(random.below(101)) / 100,
          .duplicate = 0.3 * static_cast<double>(random.below(101)) / 100,
          .delay = Duration(random.between(1'000, 50'000'000)),
          .jitter = Duration(random.below(300'000'000))};
}

// What a consumer does about one connection, and what it was told in which order.
class Consumer {
 public:
  Consumer(CmWorld& world, CmHost& host, Random random)
      : world_(world), host_(host), random_(random) {
    host_.on_each = [this](const CmEvent& event) { hear(event); };
    EXPECT_TRUE(host_.manager.listen({.service_id = kService, .backlog = 1000}));
  }

  void connect_to(const CmHost& other, Qpn qpn) {
    ConnectParameters wishes = connect_parameters(host_, other);
    wishes.qpn = qpn;
    wishes.user = qpn.value();
    wishes.extensions = random_.chance(0.5) ? kWeftTransport : 0;
    const auto id =
        host_.call([&](ConnectionManager& cm) { return cm.connect(wishes, world_.now()); });
    ASSERT_TRUE(id);
    began_.emplace(*id, qpn);
  }

  std::size_t established = 0;
  std::size_t rejected = 0;
  std::size_t disconnected = 0;
  std::size_t unreachable = 0;
  std::size_t out = 0;

 private:
  // A consumer takes its time, which may be long; nothing happens when the id is gone by then.
  void later(Duration most, CmId id, std::function<void(ConnectionManager&)> what) {
    const Duration delay(random_.below(static_cast<std::uint64_t>(most.count()) + 1));
    world_.scheduler().after(delay, [this, id, what = std::move(what)] {
      if (host_.manager.state(id)) host_.call(what);
    });
  }
  void part_later(CmId id) {
    later(30s, id, [this, id](ConnectionManager& cm) {
      if (cm.state(id) != CmState::kEstablished) return;
      if (random_.chance(0.2)) return cm.destroy(id, world_.now());  // the program dies
      EXPECT_TRUE(cm.disconnect(id, {}, world_.now()));
    });
  }
  void hear(const CmEvent& event) {
    const CmId id = event.id;
    if (std::holds_alternative<ConnectRequest>(event.what)) {
      const auto& request = std::get<ConnectRequest>(event.what);
      const Qpn qpn{request.remote_qpn.value() + 0x8000};
      const std::uint16_t extensions = request.extensions;
      later(random_.chance(0.2) ? Duration(20s) : Duration(100ms), id,
            [this, id, qpn, extensions](ConnectionManager& cm) {
              if (cm.state(id) != CmState::kReqReceived) return;
              if (random_.chance(0.1)) {
                EXPECT_TRUE(cm.reject(id, {}, world_.now()));
                return cm.destroy(id, world_.now());
              }
              EXPECT_TRUE(cm.accept(id, {.qpn = qpn, .extensions = extensions}, world_.now()));
            });
    } else if (std::holds_alternative<ConnectResponse>(event.what)) {
      EXPECT_EQ(std::get<ConnectResponse>(event.what).remote_qpn.value(),
                began_.at(id).value() + 0x8000)
          << "the answer to somebody else";
      later(random_.chance(0.2) ? Duration(20s) : Duration(100ms), id,
            [this, id](ConnectionManager& cm) {
              if (cm.state(id) != CmState::kRepReceived) return;
              EXPECT_TRUE(cm.ready(id, {}, world_.now()));
              ++established;
              part_later(id);
            });
    } else if (std::holds_alternative<Established>(event.what)) {
      part_later(id);
    } else if (std::holds_alternative<Disconnected>(event.what)) {
      ++disconnected;
    } else if (std::holds_alternative<Rejected>(event.what) ||
               std::holds_alternative<Unreachable>(event.what)) {
      std::holds_alternative<Rejected>(event.what) ? ++rejected : ++unreachable;
      host_.manager.destroy(id, world_.now());
    } else if (std::holds_alternative<TimewaitExit>(event.what)) {
      ++out;
      host_.manager.destroy(id, world_.now());
    }
  }

  CmWorld& world_;
  CmHost& host_;
  Random random_;
  std::map<CmId, Qpn> began_;
};

struct CmOutcome {
  std::size_t asked = 0, established = 0, rejected = 0, unreachable = 0;
};

// Everybody connects to everybody; when all is over, nobody remembers anything.
CmOutcome run_world(std::uint64_t seed, double most_loss) {
  Random random(seed);
  const unsigned hosts = static_cast<unsigned>(random.between(2, 4));
  CmWorld world(random.next(), some_faults(random, most_loss), {}, hosts);
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (unsigned i = 0; i < hosts; ++i)
    consumers.push_back(std::make_unique<Consumer>(world, world.host(i), random.fork()));
  CmOutcome outcome;
  for (std::uint32_t qpn = 0x100; qpn < 0x100 + 40; ++qpn) {
    const auto from = random.below(hosts);
    const auto to = random.below(hosts);
    world.scheduler().after(Duration(random.below(60'000'000'000)),
                            [&world, &consumers, from, to, qpn] {
                              consumers[from]->connect_to(world.host(to), Qpn{qpn});
                            });
    ++outcome.asked;
  }
  EXPECT_TRUE(world.run_out()) << "still busy after an hour";
  for (unsigned i = 0; i < hosts; ++i) {
    EXPECT_EQ(world.host(i).manager.ids(), 0u) << "host " << i;
    EXPECT_FALSE(world.host(i).manager.deadline());
    EXPECT_EQ(consumers[i]->out, consumers[i]->disconnected);
    outcome.established += consumers[i]->established;
    outcome.rejected += consumers[i]->rejected;
    outcome.unreachable += consumers[i]->unreachable;
  }
  return outcome;
}

TEST(CmSimulation, ForgetsEverythingOnAnyNetwork) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    run_world(seed, 0.9);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CmSimulation, ConnectsWhoeverIsNotRefusedThoughEveryThirdMessageIsLost) {
  std::size_t asked = 0, established = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    const CmOutcome outcome = run_world(seed, 0.3);
    EXPECT_EQ(outcome.unreachable, 0u) << "16 retries lose against a third of loss";
    EXPECT_GE(outcome.established + outcome.rejected, outcome.asked);
    asked += outcome.asked;
    established += outcome.established;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(established, asked * 3 / 4) << "the rest was refused";
}

TEST(CmSimulation, IsTheSameForTheSameSeed) {
  const auto trace = [] {
    CmWorld world(7, {.loss = 0.3, .duplicate = 0.2, .jitter = 200ms});
    Consumer a(world, world.a(), Random(1));
    Consumer b(world, world.b(), Random(2));
    for (std::uint32_t qpn = 0x100; qpn < 0x110; ++qpn)
      a.connect_to(world.b(), Qpn{qpn});
    EXPECT_TRUE(world.run_out());
    return std::pair(world.a().sent, world.b().sent);
  };
  EXPECT_EQ(trace(), trace());
}

}  // namespace
}  // namespace weft::mgmt
