// SPDX-License-Identifier: Apache-2.0
#include "wan/replay_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/random.h"
#include "sim/seeds.h"

namespace weft::wan {
namespace {

using Verdict = ReplayWindow::Verdict;

TEST(ReplayWindow, TakesEachNumberOnce) {
  ReplayWindow window(8192);
  for (std::uint64_t sequence = 0; sequence < 20'000; ++sequence) {
    EXPECT_EQ(window.accept(sequence), Verdict::kNew);
    EXPECT_EQ(window.accept(sequence), Verdict::kReplayed);
  }
}

TEST(ReplayWindow, TakesTheFirstNumberWhateverItIs) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40,
                                    std::numeric_limits<std::uint64_t>::max()}) {
    ReplayWindow window(64);
    EXPECT_EQ(window.accept(first), Verdict::kNew);
    EXPECT_EQ(window.accept(first), Verdict::kReplayed);
  }
}

TEST(ReplayWindow, KnowsAsManyNumbersAsItsSize) {
  for (const std::size_t size : {1u, 63u, 64u, 65u, 8192u, 8193u, 65536u}) {
    ReplayWindow window(size);
    const std::uint64_t top = 1'000'003;
    EXPECT_EQ(window.accept(top), Verdict::kNew);
    EXPECT_EQ(window.look(top - size), Verdict::kTooOld) << size;
    EXPECT_EQ(window.accept(top - size + 1), size > 1 ? Verdict::kNew : Verdict::kReplayed);
    EXPECT_EQ(window.look(top - size + 1), Verdict::kReplayed) << size;
  }
}

TEST(ReplayWindow, ForgetsEverythingInAJumpOfMoreThanItsMemory) {
  ReplayWindow window(8192);
  for (std::uint64_t sequence = 0; sequence < 8192; ++sequence)
    ASSERT_EQ(window.accept(sequence), Verdict::kNew);
  for (std::uint64_t top = 1'000'000; top < std::uint64_t{1} << 62; top = top * 3 + 17) {
    ASSERT_EQ(window.accept(top), Verdict::kNew);
    for (std::uint64_t back = 1; back < 8192; ++back)
      ASSERT_EQ(window.look(top - back), Verdict::kNew) << top << " - " << back;
    EXPECT_EQ(window.look(8191), Verdict::kTooOld);
  }
}

TEST(ReplayWindow, ChangesNothingWhenItIsAsked) {
  ReplayWindow window(8192);
  EXPECT_EQ(window.accept(5), Verdict::kNew);
  EXPECT_EQ(window.look(std::uint64_t{1} << 63), Verdict::kNew);
  EXPECT_EQ(window.look(4), Verdict::kNew);
  EXPECT_EQ(window.accept(4), Verdict::kNew);
  EXPECT_EQ(window.look(5), Verdict::kReplayed);
}

// By the definition: what was accepted, and the highest of it.
class Model {
 public:
  explicit Model(std::size_t size) : size_(size) {}
  Verdict accept(std::uint64_t sequence) {
    if (!accepted_.empty() && *accepted_.rbegin() >= sequence &&
        *accepted_.rbegin() - sequence >= size_) {
      return Verdict::kTooOld;
    }
    return accepted_.insert(sequence).second ? Verdict::kNew : Verdict::kReplayed;
  }
  [[nodiscard]] std::uint64_t highest() const {
    return accepted_.empty() ? 0 : *accepted_.rbegin();
  }

 private:
  std::size_t size_;
  std::set<std::uint64_t> accepted_;
};

void compare_with_model(std::uint64_t seed) {
  Random random(seed);
  const std::size_t size = random.chance(0.5) ? 8192 : random.between(1, 1000);
  ReplayWindow window(size);
  Model model(size);
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t highest = model.highest();
    std::uint64_t sequence = highest + random.below(3);
    if (random.chance(0.3)) sequence = highest - std::min(highest, random.below(2 * size + 2));
    if (random.chance(0.02)) sequence = highest + random.below(4 * size + 200);
    if (random.chance(0.001)) sequence = highest + random.below(std::uint64_t{1} << 40);
    const Verdict right = model.accept(sequence);
    ASSERT_EQ(window.look(sequence), right) << "size " << size << " sequence " << sequence;
    ASSERT_EQ(window.accept(sequence), right) << "size " << size << " sequence " << sequence;
  }
}

TEST(ReplayWindow, SaysWhatTheDefinitionSays) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "ReplayWindow.SaysWhatTheDefinitionSays"));
    compare_with_model(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::wan
