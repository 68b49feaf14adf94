// SPDX-License-Identifier: Apache-2.0
// What a question wants of a value that can be had up to some bound: MTU, rate, lifetime. IBA
// 15.2.5.16.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/sa/rate.h"
#include "wire/sa/sa_header.h"

namespace weft::sm {

// A bound of a question; only both of its components together are one.
struct Wanted {
  bool asked = false;
  wire::SaValue value{};

  [[nodiscard]] static Wanted of(std::uint64_t mask, std::uint64_t selector, std::uint64_t value,
                                 const wire::SaValue& given) {
    return {.asked = (mask & selector) != 0 && (mask & value) != 0, .value = given};
  }
};

// The greatest value that is wanted, of those up to `most`, whose codes grow with what they mean.
// Nothing: there is none.
[[nodiscard]] inline std::optional<std::uint8_t> greatest(const Wanted& wanted, std::uint8_t most) {
  using Selector = wire::SaValue::Selector;
  if (!wanted.asked) return most;
  const std::uint8_t bound = wanted.value.value;
  switch (wanted.value.selector) {
    case Selector::kAbove:
      return most > bound ? std::optional(most) : std::nullopt;
    case Selector::kBelow:
      if (bound <= 1) return std::nullopt;
      return most < bound ? most : static_cast<std::uint8_t>(bound - 1);
    case Selector::kExactly:
      return most >= bound && bound > 0 ? std::optional(bound) : std::nullopt;
    case Selector::kLargest:
      return most;
  }
  return std::nullopt;
}

// The same of rates.
[[nodiscard]] std::optional<std::uint8_t> greatest_rate(const Wanted& wanted, std::uint8_t most);

// The lifetime that is told where one of `usual` would do: a longer one may be said too.
[[nodiscard]] std::optional<std::uint8_t> lifetime(const Wanted& wanted, std::uint8_t usual);

[[nodiscard]] constexpr wire::SaValue exactly(std::uint8_t value) {
  return {.selector = wire::SaValue::Selector::kExactly, .value = value};
}

}  // namespace weft::sm
