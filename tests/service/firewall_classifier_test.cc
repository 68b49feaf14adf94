// SPDX-License-Identifier: Apache-2.0
// The classifier says what rules say that are tried one after the other, and its tables are
// bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "firewall_random.h"
#include "service/firewall/program.h"

namespace weft::service::firewall {
namespace {

using testing::HasSubstr;

class Recorder : public Program::Matches {
 public:
  void matched(std::uint32_t rule) override { rules.push_back(rule); }
  std::vector<std::uint32_t> rules;
};

Program program_of_text(const std::string& text) {
  auto rules = RuleSet::parse(text, "rules");
  EXPECT_TRUE(rules) << rules.error().message;
  auto program = Program::compile(std::move(*rules));
  EXPECT_TRUE(program) << program.error().message;
  return std::move(*program);
}

void compare(const std::string& text, Random& random, unsigned packets) {
  Program program = program_of_text(text);
  LinearEvaluator linear(program.rules());
  for (unsigned i = 0; i < packets; ++i) {
    const MatchKey key =
        random.chance(0.5) ? random_key(random) : key_near(program.rules(), random);
    const LinearOutcome right = linear.evaluate(key);
    Recorder recorder;
    const Program::Outcome outcome = program.evaluate(key, Time{}, recorder);
    ASSERT_EQ(outcome.action, right.action) << "packet " << i << "\n" << text.substr(0, 2000);
    ASSERT_EQ(outcome.rule, right.rule) << "packet " << i << "\n" << text.substr(0, 2000);
    ASSERT_EQ(recorder.rules, right.matched) << "packet " << i << "\n" << text.substr(0, 2000);
  }
}

void compare(std::uint64_t seed, unsigned rules, unsigned chains, unsigned packets) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  compare(RandomRules(random).text(rules, chains), random, packets);
}

TEST(FirewallClassifier, SaysWhatRulesSayOneByOne) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    compare(seed, 1 + static_cast<unsigned>(seed % 30), 1 + static_cast<unsigned>(seed % 4), 200);
}

TEST(FirewallClassifier, SaysTheSameOfThousandsOfRules) {
  // More than the 4,096 rules of one word of a summary of sets.
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    compare(seed, 6000, 1, 300);
}

TEST(FirewallClassifier, FindsEachOfTenThousandRules) {
  std::string text = "table t {\nchain forward {\nhook forward; policy drop;\n";
  for (unsigned i = 0; i < 10'000; ++i)
    text += fmt::format("sgid fd00::{:x} dgid fd01::{:x}:{:x}/124 dqp {} accept\n", i, i >> 12,
                        (i & 0xFFF) * 16, i);
  Program program = program_of_text(text + "}\n}\n");
  for (unsigned i = 0; i < 10'000; ++i) {
    MatchKey key;
    key.set(Field::state, 0);
    key.set(Field::sgid, Wide(0xFD00'0000'0000'0000, i));
    key.set(Field::dgid, Wide(0xFD01'0000'0000'0000, (i >> 12) << 16 | (i & 0xFFF) * 16 | i % 16));
    key.set(Field::dest_qp, i);
    Recorder recorder;
    ASSERT_EQ(program.evaluate(key, Time{}, recorder).rule, i);
    key.set(Field::dest_qp, i + 1);
    ASSERT_EQ(program.evaluate(key, Time{}, recorder).rule, Program::kPolicy);
  }
  EXPECT_LT(program.table_bytes(), std::size_t{4} << 20);
}

// Each range begins later and ends later than the one before: every end has a set of its own of
// half the rules.
TEST(FirewallClassifier, RefusesRulesWhoseTablesWouldBeTooLarge) {
  std::string text = "table t {\nchain forward {\nhook forward; policy drop;\n";
  for (unsigned i = 0; i < 30'000; ++i)
    text += fmt::format("dqp {}-{} drop\n", i, 30'000 + i);
  auto rules = RuleSet::parse(text + "}\n}\n", "rules");
  ASSERT_TRUE(rules) << rules.error().message;
  const auto program = Program::compile(std::move(*rules));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, std::errc::not_enough_memory);
  EXPECT_THAT(program.error().message, HasSubstr("the limit of 64 MiB"));
}

TEST(FirewallClassifier, RefusesRulesWhoseTablesWouldTakeTooLongToMake) {
  std::string text = "table t {\nchain forward {\nhook forward; policy drop;\n";
  // Many values need little memory if few rules have them, but the more rules there are beside them
  // the longer is each step.
  for (unsigned i = 0; i < 32'000; ++i)
    text += "slid 1 drop\n";
  for (const char* field : {"sqp", "qkey", "mad modifier"}) {
    text += fmt::format("{} {{ 0", field);
    for (unsigned value = 1; value < 150'000; ++value)
      text += fmt::format(",{}", 2 * value);
    text += " } accept\n";
  }
  auto rules = RuleSet::parse(text + "}\n}\n", "rules");
  ASSERT_TRUE(rules) << rules.error().message;
  const auto program = Program::compile(std::move(*rules));
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("2^28 words"));
}

TEST(FirewallClassifier, AnswersForNoRulesAtAll) {
  Program program =
      program_of_text("table t {\nchain forward {\nhook forward; policy accept;\n}\n}\n");
  MatchKey key;
  key.set(Field::state, 0);
  Recorder recorder;
  const auto outcome = program.evaluate(key, Time{}, recorder);
  EXPECT_EQ(outcome.action, Action::accept);
  EXPECT_EQ(outcome.rule, Program::kPolicy);
  key.set(Field::state, 4);
  EXPECT_EQ(program.evaluate(key, Time{}, recorder).action, Action::drop);
}

TEST(FirewallClassifier, MatchesNoMorePacketsThanALimitAllows) {
  Program program = program_of_text(
      "table t {\nchain forward {\nhook forward; policy drop;\n"
      "limit rate 10/second burst 3 packets accept\n}\n}\n");
  MatchKey key;
  key.set(Field::state, 0);
  Recorder recorder;
  unsigned accepted = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const auto outcome = program.evaluate(key, Time(i * 10ms), recorder);
    EXPECT_TRUE(outcome.by_time);
    if (outcome.action == Action::accept) ++accepted;
  }
  // Ten seconds of ten, and what may come at once.
  EXPECT_GE(accepted, 100u);
  EXPECT_LE(accepted, 104u);
}

}  // namespace
}  // namespace weft::service::firewall
