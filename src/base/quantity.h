// SPDX-License-Identifier: Apache-2.0
// Numbers with units, as people write them: "2.5Gb/s", "20ms", "512MiB".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"

namespace weft {

struct Unit {
  std::string_view name;
  double value = 1;  // as a multiple of what amounts are counted in
};

// Times, counted in nanoseconds.
inline constexpr std::array<Unit, 4> kTimeUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
// Rates, counted in bytes per second: bits are said, bytes are kept.
inline constexpr std::array<Unit, 3> kRateUnits{{{"kb/s", 125}, {"Mb/s", 125e3}, {"Gb/s", 125e6}}};
// Sizes, counted in bytes.
inline constexpr std::array<Unit, 7> kSizeUnits{{{"KiB", 1024},
                                                 {"MiB", 1024.0 * 1024},
                                                 {"GiB", 1024.0 * 1024 * 1024},
                                                 {"kB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9},
                                                 {"B", 1}}};

// A whole number and nothing else: decimal, or hexadecimal behind 0x. Nothing: it is none, or one
// of 2^64 or more.
[[nodiscard]] std::optional<std::uint64_t> parse_integer(std::string_view text);

// A finite decimal number and nothing else.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// A number with one of these units behind it, rounded to a whole amount; nothing for anything else,
// what is negative, and amounts of 2^62 and more.
[[nodiscard]] std::optional<std::uint64_t> parse_quantity(std::string_view text,
                                                          std::span<const Unit> units);

// With the largest of these units, the smallest of which comes first, of which it is at least one.
// parse_quantity() gives the same amount again.
[[nodiscard]] std::string quantity_text(std::uint64_t amount, std::span<const Unit> units);

[[nodiscard]] std::string time_text(Duration time);  // not negative: "1.5ms"
// In powers of 1024 where it is a multiple of one, else in powers of 1000: "128KiB", "1.25MB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace weft
