// SPDX-License-Identifier: Apache-2.0
#include "link/emulation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "base/quantity.h"
#include "base/settings.h"

namespace weft::link {
namespace {

constexpr std::uint64_t kShortestFlap = 1'000'000, kLongestFlap = 86'400'000'000'000;  // ns
constexpr std::uint64_t kMostSeed = std::numeric_limits<std::int64_t>::max();  // TOML's integers

tl::unexpected<Error> must(std::string_view what) {
  return fail(std::errc::invalid_argument, fmt::format("must be {}", what));
}

template <std::uint64_t Emulation::*kField>
Expected<void> set_rate(Emulation& emulation, std::string_view value) {
  const auto bytes = parse_quantity(value, kRateUnits);
  if (!bytes || *bytes == 0) return must("a rate in Gb/s, Mb/s or kb/s, as in 2.5Gb/s, not 0");
  emulation.*kField = *bytes;
  return {};
}

Expected<void> set_delay(Emulation& emulation, std::string_view value) {
  const auto ns = parse_quantity(value, kTimeUnits);
  if (!ns) return must("a time in ns, us, ms or s, as in 2ms");
  emulation.delay = Duration(static_cast<Duration::rep>(*ns));
  return {};
}

// Ports that go up and down without end are work for everybody.
template <Duration Emulation::*kField>
Expected<void> set_flap(Emulation& emulation, std::string_view value) {
  const auto ns = parse_quantity(value, kTimeUnits);
  if (!ns || *ns < kShortestFlap || *ns > kLongestFlap) {
    return must("a time of 1ms to 86400s, as in 10s or 500ms");
  }
  emulation.*kField = Duration(static_cast<Duration::rep>(*ns));
  return {};
}

template <double Emulation::*kField>
Expected<void> set_probability(Emulation& emulation, std::string_view value) {
  const bool percent = value.ends_with('%');
  if (percent) value.remove_suffix(1);
  auto number = parse_number(value);
  if (number && percent) *number /= 100;
  if (!number || !(*number >= 0 && *number <= 1)) {
    return must("a probability from 0 to 1, or as in 0.1%");
  }
  emulation.*kField = *number;
  return {};
}

Expected<void> set_seed(Emulation& emulation, std::string_view value) {
  std::uint64_t seed = 0;
  const char* const last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, seed);
  if (error != std::errc{} || end != last || seed > kMostSeed) {
    return must(fmt::format("a number from 0 to {}", kMostSeed));
  }
  emulation.seed = seed;
  return {};
}

struct Setting {
  std::string_view name;
  Expected<void> (*set)(Emulation&, std::string_view);
  double Emulation::*probability;  // null: none
};
constexpr std::array<Setting, 11> kSettings{{
    {"rate", set_rate<&Emulation::rate_bytes_per_s>, nullptr},
    {"delay", set_delay, nullptr},
    {"loss", set_probability<&Emulation::loss>, &Emulation::loss},
    {"credit_loss", set_probability<&Emulation::credit_loss>, &Emulation::credit_loss},
    {"bit_errors", set_probability<&Emulation::bit_errors>, &Emulation::bit_errors},
    {"duplicate", set_probability<&Emulation::duplicate>, &Emulation::duplicate},
    {"reorder", set_probability<&Emulation::reorder>, &Emulation::reorder},
    {"drain", set_rate<&Emulation::drain_bytes_per_s>, nullptr},
    {"flap", set_flap<&Emulation::flap>, nullptr},
    {"outage", set_flap<&Emulation::outage>, nullptr},
    {"seed", set_seed, nullptr},
}};

}  // namespace

const std::vector<std::string_view>& emulation_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Setting& setting : kSettings)
      all.push_back(setting.name);
    return all;
  }();
  return names;
}

Expected<void> set_emulation(Emulation& emulation, std::string_view name, std::string_view value) {
  const auto setting = std::find_if(kSettings.begin(), kSettings.end(),
                                    [&](const Setting& row) { return row.name == name; });
  if (setting == kSettings.end()) {
    return fail(std::errc::invalid_argument, fmt::format("there is no such setting; there are {}",
                                                         fmt::join(emulation_names(), ", ")));
  }
  return setting->set(emulation, value);
}

Expected<Emulation> parse_emulation(std::string_view list, const Emulation& base) {
  Emulation emulation = base;
  const auto done = for_each_setting(
      list,
      [&](std::string_view name, std::string_view value) {
        return set_emulation(emulation, name, value);
      },
      [&] { emulation = {}; });
  if (!done) return tl::unexpected(done.error());
  return emulation;
}

std::vector<std::pair<std::string_view, std::string>> emulation_settings(
    const Emulation& emulation) {
  std::vector<std::pair<std::string_view, std::string>> settings;
  if (emulation.rate_bytes_per_s != 0) {
    settings.emplace_back("rate", quantity_text(emulation.rate_bytes_per_s, kRateUnits));
  }
  if (emulation.delay != 0ns) settings.emplace_back("delay", time_text(emulation.delay));
  for (const Setting& setting : kSettings) {
    if (setting.probability == nullptr || emulation.*setting.probability == 0) continue;
    settings.emplace_back(setting.name, fmt::format("{}", emulation.*setting.probability));
  }
  if (emulation.drain_bytes_per_s != 0) {
    settings.emplace_back("drain", quantity_text(emulation.drain_bytes_per_s, kRateUnits));
  }
  if (emulation.flap != 0ns) {
    settings.emplace_back("flap", time_text(emulation.flap));
    settings.emplace_back("outage", time_text(emulation.outage));
  }
  if (emulation.seed != Emulation{}.seed) {
    settings.emplace_back("seed", fmt::to_string(emulation.seed));
  }
  return settings;
}

std::string to_string(const Emulation& emulation) {
  if (!emulation.any()) return "";
  std::string list;
  for (const auto& [name, value] : emulation_settings(emulation))
    list += fmt::format("{}{}={}", list.empty() ? "" : ",", name, value);
  return list;
}

}  // namespace weft::link
