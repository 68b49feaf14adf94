// SPDX-License-Identifier: Apache-2.0
// Three subnets whose routers find out the rates of the WANs between them, whatever these lose, mix
// up and are cut.
#include <gtest/gtest.h>

#include <algorithm>

#include "router_mesh.h"
#include "sim/seeds.h"

namespace weft::wan::test {
namespace {

constexpr int kSteps = 250;

struct Trouble {
  bool loss = false;
  bool cuts = false;
};

// The WANs, and what is sent over them, drawn from a seed.
class RouterStory {
 public:
  RouterStory(std::uint64_t seed, const Trouble& trouble)
      : trouble_(trouble), random_(seed), mesh(draw(seed)) {}

  void run() {
    EXPECT_TRUE(mesh.run_until([this] { return mesh.active(); }, 10s)) << "never up";
    for (int i = 0; i < kSteps; ++i)
      step();
    for (std::size_t from = 0; from < RouterMesh::kSites; ++from) {
      for (std::size_t to = 0; to < RouterMesh::kSites; ++to)
        mesh.cut(from, to, false);
    }
    EXPECT_TRUE(mesh.run_until([this] { return mesh.active(); }, 10s)) << "not up again";
    mesh.run_for(1s);  // what was said last, and nobody has heard, is said again
    EXPECT_TRUE(mesh.run_until([this] { return mesh.under_way() == 0; }, 30s))
        << "something waits for ever, or is kept: " << mesh.under_way();
  }

  // Every packet that a subnet gave has arrived where it was to, once, or is counted: by a router
  // before it left, or on its way. Of what was under way when a session ended nobody can say which.
  void check() const {
    using R = RouterCounter;
    const auto of = [this](R counter) { return mesh.count(counter); };
    EXPECT_EQ(mesh.strays, 0u);
    EXPECT_EQ(mesh.disorder, 0u);
    EXPECT_EQ(mesh.damaged, 0u);
    EXPECT_EQ(mesh.arrived, of(R::kIn) + of(R::kGroupIn));
    EXPECT_EQ(of(R::kOut) + of(R::kGroupOut) + of(R::kSiteDown) + of(R::kNotWanted), mesh.sent);
    const std::uint64_t left = of(R::kOut) + of(R::kCopies) + of(R::kTold);
    const std::uint64_t came = mesh.arrived + of(R::kInterest) + of(R::kNoPath) +
                               of(R::kUnanswered) + of(R::kTooMany) + mesh.lost_on_links() +
                               tunnels_lost();
    EXPECT_LE(came, left);
    EXPECT_GE(came + mesh.count(TunnelCounter::kTxUnconfirmed), left);
    if (testing::Test::HasFailure()) ADD_FAILURE() << mesh.describe();
  }

 private:
  MeshOptions draw(std::uint64_t seed) {
    MeshOptions out{.rate_bytes_per_s = random_.between(300'000, 3'000'000),
                    .queue = Duration(random_.between(10'000'000, 100'000'000)),
                    .frame = random_.between(kLeastFrame + LegHead::kSize, 4'000),
                    .answers = Duration(random_.below(500'000'000)),
                    .seed = seed};
    out.network.delay = Duration(random_.between(100'000, 40'000'000));
    out.network.reorder = 0.1 * random_.chance(0.5);
    out.network.reorder_delay = Duration(random_.between(1, 10'000'000));
    if (trouble_.loss) {
      out.network.loss = 0.001 * static_cast<double>(random_.below(50));
      out.network.duplicate = 0.05 * random_.chance(0.5);
    }
    return out;
  }

  [[nodiscard]] std::uint64_t tunnels_lost() const {
    using T = TunnelCounter;
    std::uint64_t sum = 0;
    for (const T counter :
         {T::kTxNoLane, T::kTxNoMemory, T::kTxSessionLost, T::kRxLost, T::kRxSessionLost})
      sum += mesh.count(counter);
    return sum;
  }

  void step() {
    for (std::size_t from = 0; from < RouterMesh::kSites; ++from) {
      for (std::uint64_t i = random_.below(12); i > 0; --i) {
        const Vl vl{static_cast<std::uint8_t>(random_.below(RouterMesh::kVls))};
        const std::size_t payload = 4 * random_.below(random_.chance(0.3) ? 1024 : 64);
        const std::size_t to = (from + 1 + random_.below(2)) % RouterMesh::kSites;
        random_.chance(0.1) ? mesh.send_to_group(from, vl, payload)
                            : mesh.send(from, to, vl, payload);
      }
    }
    if (trouble_.cuts && random_.chance(0.02)) {
      const std::size_t from = random_.below(RouterMesh::kSites);
      const std::size_t to = (from + 1 + random_.below(2)) % RouterMesh::kSites;
      const bool cut = random_.chance(0.6);
      mesh.cut(from, to, cut);
      if (random_.chance(0.7)) mesh.cut(to, from, cut);
    }
    mesh.run_for(Duration(random_.below(20'000'000)));
  }

  const Trouble trouble_;
  Random random_;

 public:
  RouterMesh mesh;
};

std::string replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

TEST(ThreeRouters, LoseNothingOfWhatTheirWansLoseAndMixUp) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    RouterStory story(seed, {.loss = true});
    story.run();
    story.check();
    EXPECT_EQ(story.mesh.lost_on_links(), 0u);
    EXPECT_EQ(story.mesh.count(TunnelCounter::kSessions), 6u) << "a session began anew";
    EXPECT_GT(story.mesh.arrived, 1'000u);
    if (HasFailure()) return;
  }
}

TEST(ThreeRouters, DeliverOnceOrCountWhatIsUnderWayWhenWansAreCut) {
  std::uint64_t silences = 0;
  std::uint64_t groups = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    RouterStory story(seed, {.loss = seed % 2 == 0, .cuts = true});
    story.run();
    story.check();
    silences += story.mesh.count(TunnelCounter::kSessionsSilent);
    groups += story.mesh.count(RouterCounter::kGroupIn);
    if (HasFailure()) return;
  }
  EXPECT_GT(silences, 20u);
  EXPECT_GT(groups, 1'000u);
}

// A WAN that is cut takes nothing of the others': the two sites that it does not join go on.
TEST(ThreeRouters, GoOnBetweenTwoWhileTheThirdIsCutOff) {
  MeshOptions options{.rate_bytes_per_s = 2'000'000};
  options.network.delay = 10ms;
  RouterMesh mesh(options);
  ASSERT_TRUE(mesh.run_until([&] { return mesh.active(); }, 10s));
  const auto send = [&](Duration time) {
    const std::uint64_t before = mesh.arrived;
    for (Duration gone{}; gone < time; gone += 5ms) {
      while (mesh.send(0, 1, Vl{0}, 1024)) {
      }
      mesh.run_for(5ms);
    }
    return static_cast<double>(mesh.arrived - before) * 1024 /
           std::chrono::duration<double>(time).count();
  };
  send(4s);
  const double before = send(4s);
  EXPECT_GE(before, 0.8 * 2e6) << "the rate is not found out";
  for (const std::size_t other : {0U, 1U}) {
    mesh.cut(2, other, true);
    mesh.cut(other, 2, true);
  }
  const std::uint64_t repeated = mesh.count(TunnelCounter::kTxRepeated);
  EXPECT_GE(send(4s), 0.95 * before);
  EXPECT_EQ(mesh.count(TunnelCounter::kTxRepeated), repeated);
  EXPECT_FALSE(mesh.active());
  for (const std::size_t other : {0U, 1U}) {
    mesh.cut(2, other, false);
    mesh.cut(other, 2, false);
  }
  EXPECT_TRUE(mesh.run_until([&] { return mesh.active(); }, 10s));
}

}  // namespace
}  // namespace weft::wan::test
