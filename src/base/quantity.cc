// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace weft {
namespace {

constexpr std::array<Unit, 4> kBinarySizes{
    {{"B", 1}, {"KiB", 1024}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}}};
constexpr std::array<Unit, 4> kDecimalSizes{{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}};

}  // namespace

std::optional<std::uint64_t> parse_integer(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = parse_number(text.substr(0, text.size() - unit.name.size()));
    if (!number) continue;
    const double value = *number * unit.value;
    if (value >= 0 && value < 0x1p62) return static_cast<std::uint64_t>(std::llround(value));
  }
  return std::nullopt;
}

std::string quantity_text(std::uint64_t amount, std::span<const Unit> units) {
  const auto value = static_cast<double>(amount);
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value >= unit.value) best = &unit;
  }
  return fmt::format("{}{}", value / best->value, best->name);
}

std::string time_text(Duration time) {
  return quantity_text(static_cast<std::uint64_t>(time.count()), kTimeUnits);
}

std::string size_text(std::uint64_t bytes) {
  const bool binary = bytes % 1024 == 0;
  return quantity_text(bytes, binary ? std::span<const Unit>(kBinarySizes) : kDecimalSizes);
}

}  // namespace weft
