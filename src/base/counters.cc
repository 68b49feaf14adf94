// SPDX-License-Identifier: Apache-2.0
#include "base/counters.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft {

void accumulate(std::vector<CounterValue>& into, std::span<const CounterValue> more) {
  for (const CounterValue& counter : more) {
    const auto found = std::find_if(into.begin(), into.end(),
                                    [&](const auto& have) { return have.name == counter.name; });
    if (found == into.end()) {
      into.push_back(counter);
    } else {
      found->value += counter.value;
    }
  }
}

std::string format_counters(std::span<const CounterValue> counters, bool zeros) {
  std::size_t width = 0;
  for (const CounterValue& counter : counters)
    width = std::max(width, counter.name.size());
  std::string out;
  for (const CounterValue& counter : counters) {
    if (counter.value == 0 && !zeros) continue;
    out +=
        fmt::format("  {:<{}}  {:>14}  # {}\n", counter.name, width, counter.value, counter.help);
  }
  return out;
}

}  // namespace weft
