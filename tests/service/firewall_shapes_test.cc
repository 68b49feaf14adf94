// SPDX-License-Identifier: Apache-2.0
// Ten thousand rules of many sorts: tables say of packets what the rules say one by one, and no
// packet has to come by more than a few of them, but where ranges overlap each other everywhere.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "firewall_random.h"
#include "service/firewall/program.h"

namespace weft::service::firewall {
namespace {

constexpr unsigned kFirewallShapesRules = 10'000;

class ShapesRecorder : public Program::Matches {
 public:
  void matched(std::uint32_t rule) override { rules.push_back(rule); }
  std::vector<std::uint32_t> rules;
};

std::string file_of(Random& random, const std::function<std::string(unsigned)>& rule) {
  std::string text = "table t {\nchain forward {\nhook forward; policy drop;\n";
  for (unsigned i = 0; i < kFirewallShapesRules; ++i) {
    const auto what = random.below(10);
    text += rule(i) + (what < 5 ? " accept\n" : what < 9 ? " drop\n" : " counter\n");
  }
  return text + "}\n}\n";
}

// How much a packet meets at most.
Classifier::Most compare(const std::string& text, Random& random) {
  auto rules = RuleSet::parse(text, "rules");
  if (!rules) {
    ADD_FAILURE() << rules.error().message;
    return {};
  }
  auto program = Program::compile(std::move(*rules));
  if (!program) {
    ADD_FAILURE() << program.error().message;
    return {};
  }
  LinearEvaluator linear(program->rules());
  for (unsigned i = 0; i < 400; ++i) {
    const MatchKey key = key_near(program->rules(), random);
    const LinearOutcome right = linear.evaluate(key);
    ShapesRecorder recorder;
    const Program::Outcome outcome = program->evaluate(key, Time{}, recorder);
    EXPECT_EQ(outcome.rule, right.rule) << "packet " << i;
    EXPECT_EQ(recorder.rules, right.matched) << "packet " << i;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_LT(program->table_bytes(), Classifier::kMostBytes + IntervalSets::kMostBytes);
  return program->most();
}

MATCHER_P2(MeetsAtMost, tables, rules, "") {
  *result_listener << arg.tables << " tables, " << arg.rules << " rules, " << arg.words << " words";
  return arg.tables <= tables && arg.rules <= rules && arg.words == 0;
}

TEST(FirewallShapes, PairsOfTenants) {
  Random random(1);
  EXPECT_THAT(compare(file_of(random,
                              [](unsigned i) {
                                return fmt::format("sgid fd00::{:x} dgid fd01::{:x}", i / 100,
                                                   i % 100);
                              }),
                      random),
              MeetsAtMost(2u, 1u));
}

TEST(FirewallShapes, RulesOfManySortsOneAfterTheOther) {
  Random random(2);
  const auto rule = [](unsigned i) {
    switch (i % 8) {
      case 0:
        return fmt::format("sgid fd00::{:x} dgid fd01::{:x}", i, i);
      case 1:
        return fmt::format("slid {} dqp {}", 0x100 + i, i);
      case 2:
        return fmt::format("service {:#x} opcode rdma-read", 0x10000 + i);
      case 3:
        return fmt::format("partition {} dgid fe80::1:{:x}", 2 + i % 1000, i);
      case 4:
        return fmt::format("ip saddr 10.0.{}.{} tcp dport {}", i >> 8, i & 0xFF, i);
      case 5:
        return fmt::format("ip6 daddr 2001:db8:{:x}::/48 udp sport != {}", i, i);
      case 6:
        return fmt::format("dqp {} qkey {:#x}", 0x10000 + i, i * 5);
      default:
        return fmt::format("mad class vendor mad modifier {}", i);
    }
  };
  EXPECT_THAT(compare(file_of(random, rule), random), MeetsAtMost(10u, 24u));
}

TEST(FirewallShapes, PrefixesOfManyLengthsWithinEachOther) {
  Random random(3);
  const auto rule = [&](unsigned) {
    const auto length = 16 + static_cast<unsigned>(random.below(29)) * 4;
    std::array<unsigned, 8> words{0xFD00 + static_cast<unsigned>(random.below(4)),
                                  static_cast<unsigned>(random.below(8)),
                                  static_cast<unsigned>(random.below(16)) << 12,
                                  0,
                                  0,
                                  0,
                                  static_cast<unsigned>(random.below(16)),
                                  static_cast<unsigned>(random.below(0x10000))};
    for (unsigned word = 0; word < words.size(); ++word) {
      const unsigned bits = std::clamp(length, word * 16, word * 16 + 16) - word * 16;
      words[word] &= ~(0xFFFFu >> bits) & 0xFFFF;
    }
    return fmt::format("sgid {:x}/{} dgid fd01::{:x} dqp {}", fmt::join(words, ":"), length,
                       random.below(2000), random.below(1000));
  };
  EXPECT_THAT(compare(file_of(random, rule), random), MeetsAtMost(8u, 64u));
}

TEST(FirewallShapes, RangesThatOverlapTheirNeighbours) {
  Random random(4);
  const auto rule = [&](unsigned i) {
    return fmt::format("dqp {}-{} message > {}", i * 100, i * 100 + 150, random.below(4096));
  };
  EXPECT_THAT(compare(file_of(random, rule), random), MeetsAtMost(2u, 16u));
}

TEST(FirewallShapes, SetsOfValuesAndTheirContraries) {
  Random random(5);
  const auto rule = [&](unsigned i) {
    std::string out = fmt::format("slid {{ {}", 4 * i + 1);
    for (unsigned more = 0; more < 3; ++more)
      out += fmt::format(", {}", 1 + random.below(40'000));
    return out + fmt::format(" }} sl != {} dlid != {{ {}, {} }}", random.below(8),
                             random.below(100), 100 + random.below(100));
  };
  EXPECT_THAT(compare(file_of(random, rule), random), MeetsAtMost(3u, 32u));
}

TEST(FirewallShapes, SingleValuesAmongRangesOfNearlyAll) {
  Random random(6);
  const auto rule = [&](unsigned i) {
    if (i % 4 == 0) return fmt::format("dqp 16-16000000 qkey {}", i);
    return fmt::format("dqp {} qkey != {}", i * 1000, i);
  };
  EXPECT_THAT(compare(file_of(random, rule), random), MeetsAtMost(4u, 32u));
}

TEST(FirewallShapes, ManyRulesThatAPacketMatches) {
  Random random(7);
  const auto rule = [&](unsigned i) {
    return i % 10 == 0 ? fmt::format("sl {} counter\ndgid fd00::{:x}", i % 16, i)
                       : fmt::format("dgid fd00::{:x}", i);
  };
  (void)compare(file_of(random, rule), random);
}

// Nothing parts them: 64 at a time, and that can be told beforehand.
TEST(FirewallShapes, RangesThatOverlapEachOtherEverywhere) {
  Random random(8);
  const auto range = [&] {
    const auto low = random.below(8'000'000);
    return fmt::format("{}-{}", low, low + 2'000'000 + random.below(6'000'000));
  };
  const auto rule = [&](unsigned) { return fmt::format("dqp {} sqp {}", range(), range()); };
  const Classifier::Most most = compare(file_of(random, rule), random);
  EXPECT_GT(most.words, 0u);
  EXPECT_LE(most.words, 3 * (kFirewallShapesRules / 64 + 1));
}

TEST(FirewallShapes, EachOfTenThousandSingleValuesIsFound) {
  std::vector<ValueIndex<std::uint64_t>::Point> points;
  for (std::uint32_t i = 0; i < kFirewallShapesRules; ++i)
    points.push_back({i * std::uint64_t{0x1'0000'0001}, i});
  const std::vector<ValueIndex<std::uint64_t>::Interval> intervals{{5, 77}, {9, ~0u}};
  // By hash, and as they are found that crowd in any hash table.
  for (const unsigned arrangements : {ValueIndex<std::uint64_t>::kArrangements, 0u}) {
    const ValueIndex<std::uint64_t> values(points, intervals, arrangements);
    for (const auto& point : points) {
      EXPECT_EQ(values.find(point.at), point.to);
      if (point.at > 16) {
        EXPECT_EQ(values.find(point.at + 1), ValueIndex<Wide>::kNone);
      }
    }
    EXPECT_EQ(values.find(4), ValueIndex<Wide>::kNone);
    EXPECT_EQ(values.find(8), 77u);
  }
}

}  // namespace
}  // namespace weft::service::firewall
