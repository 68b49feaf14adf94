// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "service/firewall/match_key.h"
#include "service/firewall/rule_set.h"

namespace weft::service::firewall {

// Rules as a packet is tried against one of them: what is most likely not to hold comes first.
class RuleTests {
 public:
  RuleTests() = default;
  // The conditions of `rules` outlive it, and stay where they are.
  explicit RuleTests(std::span<const Rule> rules);

  [[nodiscard]] bool match(std::uint32_t rule, const MatchKey& key) const {
    for (std::uint32_t i = begins_[rule]; i < begins_[rule + 1]; ++i) {
      if (!holds(tests_[i], key)) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t bytes() const {
    return tests_.capacity() * sizeof(Test) + begins_.capacity() * sizeof(std::uint32_t);
  }

 private:
  struct Test {
    std::uint64_t low = 0;
    std::uint64_t high = 0;          // of one range of up to 64 bits; else
    const Ranges* ranges = nullptr;  // all of them
    Field field{};
  };
  [[nodiscard]] static bool holds(const Test& test, const MatchKey& key) {
    if (!key.has(test.field)) return false;
    if (test.ranges != nullptr) return contains(*test.ranges, key.value(test.field));
    const std::uint64_t value = key.narrow(test.field);
    return test.low <= value && value <= test.high;
  }

  std::vector<Test> tests_;
  std::vector<std::uint32_t> begins_;  // of each rule, and the end
};

}  // namespace weft::service::firewall
