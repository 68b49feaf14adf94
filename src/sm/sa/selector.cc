// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/selector.h"

namespace weft::sm {
namespace {

using Selector = wire::SaValue::Selector;

constexpr std::uint8_t kRates = 64;  // codes have 6 bits
constexpr std::uint8_t kSelectorLongestLife = 63;

std::optional<std::uint8_t> fastest_below(std::uint32_t mbps, std::uint32_t most) {
  std::optional<std::uint8_t> best;
  for (std::uint8_t code = 1; code < kRates; ++code) {
    const std::uint32_t rate = wire::rate_mbps(code);
    if (rate == 0 || rate >= mbps || rate > most) continue;
    if (!best || rate > wire::rate_mbps(*best)) best = code;
  }
  return best;
}

}  // namespace

std::optional<std::uint8_t> greatest_rate(const Wanted& wanted, std::uint8_t most) {
  if (!wanted.asked) return most;
  const std::uint32_t bound = wire::rate_mbps(wanted.value.value);
  const std::uint32_t possible = wire::rate_mbps(most);
  switch (wanted.value.selector) {
    case Selector::kAbove:
      return possible > bound ? std::optional(most) : std::nullopt;
    case Selector::kBelow:
      return possible < bound ? std::optional(most) : fastest_below(bound, possible);
    case Selector::kExactly:
      return bound != 0 && possible >= bound ? std::optional(wanted.value.value) : std::nullopt;
    case Selector::kLargest:
      return most;
  }
  return std::nullopt;
}

std::optional<std::uint8_t> lifetime(const Wanted& wanted, std::uint8_t usual) {
  if (!wanted.asked) return usual;
  const std::uint8_t bound = wanted.value.value;
  switch (wanted.value.selector) {
    case Selector::kAbove:
      if (usual > bound) return usual;
      return bound < kSelectorLongestLife ? std::optional(static_cast<std::uint8_t>(bound + 1))
                                          : std::nullopt;
    case Selector::kBelow:
      return usual < bound ? std::optional(usual) : std::nullopt;
    case Selector::kExactly:
      return usual <= bound ? std::optional(bound) : std::nullopt;
    case Selector::kLargest:
      return usual;
  }
  return std::nullopt;
}

}  // namespace weft::sm
