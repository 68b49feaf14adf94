// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/rule_tests.h"

#include <algorithm>
#include <bit>

namespace weft::service::firewall {
namespace {

// How few values a condition lets through: the binary logarithm of their number, more or less.
unsigned width(const Condition& condition) {
  unsigned out = 0;
  for (const Range& range : condition.ranges) {
    const std::uint64_t high = range.high.high - range.low.high;
    const std::uint64_t low = range.high.low - range.low.low;
    out = std::max(out, high != 0 ? 64u + static_cast<unsigned>(std::bit_width(high))
                                  : static_cast<unsigned>(std::bit_width(low)));
  }
  return out + static_cast<unsigned>(std::bit_width(condition.ranges.size()));
}

}  // namespace

RuleTests::RuleTests(std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    begins_.push_back(static_cast<std::uint32_t>(tests_.size()));
    std::vector<const Condition*> order;
    for (const Condition& condition : rule.conditions)
      order.push_back(&condition);
    // Of two that are as narrow, the field with more values: a packet's state is nearly always one
    // of three.
    std::stable_sort(order.begin(), order.end(), [](const Condition* a, const Condition* b) {
      const bool a_last = a->field == Field::state || a->field == Field::direction;
      const bool b_last = b->field == Field::state || b->field == Field::direction;
      return a_last != b_last ? b_last : width(*a) < width(*b);
    });
    for (const Condition* condition : order) {
      Test test{.field = condition->field};
      if (condition->ranges.size() == 1 && !is_wide(condition->field)) {
        test.low = condition->ranges.front().low.low;
        test.high = condition->ranges.front().high.low;
      } else {
        test.ranges = &condition->ranges;
      }
      tests_.push_back(test);
    }
  }
  begins_.push_back(static_cast<std::uint32_t>(tests_.size()));
  tests_.shrink_to_fit();
}

}  // namespace weft::service::firewall
