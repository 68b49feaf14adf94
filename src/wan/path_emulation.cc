// SPDX-License-Identifier: Apache-2.0
#include "wan/path_emulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/quantity.h"
#include "base/settings.h"
#include "link/emulation_text.h"

namespace weft::wan {
namespace {

// Days of delay are nobody's network; sums of times stay far from their ends.
constexpr std::uint64_t kLongestTime = 3'600'000'000'000;  // ns
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 40;
constexpr std::uint64_t kLargestMtu = 65'535;
constexpr std::array<std::string_view, 2> kNotOfPaths{"credit_loss", "drain"};

tl::unexpected<Error> must(std::string_view what) {
  return fail(std::errc::invalid_argument, fmt::format("must be {}", what));
}

template <Duration PathEmulation::*kField>
Expected<void> set_time(PathEmulation& emulation, std::string_view value) {
  const auto ns = parse_quantity(value, kTimeUnits);
  if (!ns || *ns > kLongestTime) return must("a time of at most 3600s, as in 500us or 2ms");
  emulation.*kField = Duration(static_cast<Duration::rep>(*ns));
  return {};
}

template <std::uint64_t PathEmulation::*kField>
Expected<void> set_size(PathEmulation& emulation, std::string_view value) {
  const auto bytes = parse_quantity(value, kSizeUnits);
  if (!bytes || *bytes > kLargestSize)
    return must("a size of at most 1024GiB, as in 64KiB or 60MB");
  emulation.*kField = *bytes;
  return {};
}

Expected<void> set_mtu(PathEmulation& emulation, std::string_view value) {
  const auto bytes = parse_quantity(value, kSizeUnits);
  const auto number = parse_number(value);  // everybody says an MTU without a unit
  const std::uint64_t mtu = bytes ? *bytes
                            : number && *number >= 0 && *number <= 1e6
                                ? static_cast<std::uint64_t>(*number)
                                : 0;
  if (mtu == 0 || mtu > kLargestMtu) return must("a number of bytes from 1 to 65535, as in 1500");
  emulation.mtu = static_cast<std::uint32_t>(mtu);
  return {};
}

struct Setting {
  std::string_view name;
  Expected<void> (*set)(PathEmulation&, std::string_view);
};
constexpr std::array<Setting, 5> kSettings{{
    {"jitter", set_time<&PathEmulation::jitter>},
    {"late", set_time<&PathEmulation::late>},
    {"queue", set_size<&PathEmulation::queue>},
    {"mark", set_size<&PathEmulation::mark>},
    {"mtu", set_mtu},
}};

bool is_of_lines(std::string_view name) {
  const auto& names = link::emulation_names();
  return std::find(names.begin(), names.end(), name) != names.end() &&
         std::find(kNotOfPaths.begin(), kNotOfPaths.end(), name) == kNotOfPaths.end();
}

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const std::string_view name : link::emulation_names()) {
    if (is_of_lines(name)) names.push_back(name);
  }
  for (const Setting& setting : kSettings)
    names.push_back(setting.name);
  return names;
}

Expected<void> set(PathEmulation& emulation, std::string_view name, std::string_view value) {
  if (is_of_lines(name)) {
    auto line = emulation.line;
    if (auto done = link::set_emulation(line, name, value); !done) return done;
    if (line.delay > Duration(kLongestTime)) return must("at most 3600s");
    emulation.line = line;
    return {};
  }
  const auto setting = std::find_if(kSettings.begin(), kSettings.end(),
                                    [&](const Setting& row) { return row.name == name; });
  if (setting != kSettings.end()) return setting->set(emulation, value);
  return fail(std::errc::invalid_argument, fmt::format("there is no such setting; there are {}",
                                                       fmt::join(setting_names(), ", ")));
}

std::uint64_t bytes_in(std::uint64_t rate_bytes_per_s, Duration time) {
  const double bytes =
      static_cast<double>(rate_bytes_per_s) * static_cast<double>(time.count()) / 1e9;
  return bytes < 0x1p62 ? static_cast<std::uint64_t>(bytes) : std::uint64_t{1} << 62;
}

}  // namespace

Expected<PathEmulation> parse_path_emulation(std::string_view list, const PathEmulation& base) {
  PathEmulation emulation = base;
  const auto done = for_each_setting(
      list,
      [&](std::string_view name, std::string_view value) { return set(emulation, name, value); },
      [&] { emulation = {}; });
  if (!done) return tl::unexpected(done.error());
  return emulation;
}

std::string to_string(const PathEmulation& emulation) {
  std::vector<std::string> words;
  for (const auto& [name, value] : link::emulation_settings(emulation.line))
    words.push_back(fmt::format("{}={}", name, value));
  const auto time = [&](std::string_view name, Duration value, Duration usual) {
    if (value != usual) words.push_back(fmt::format("{}={}", name, time_text(value)));
  };
  const auto size = [&](std::string_view name, std::uint64_t value) {
    if (value != 0) words.push_back(fmt::format("{}={}", name, size_text(value)));
  };
  time("jitter", emulation.jitter, PathEmulation{}.jitter);
  time("late", emulation.late, PathEmulation{}.late);
  size("queue", emulation.queue);
  size("mark", emulation.mark);
  if (emulation.mtu != 0) words.push_back(fmt::format("mtu={}", emulation.mtu));
  return fmt::format("{}", fmt::join(words, ","));
}

std::uint64_t queue_of(const PathEmulation& emulation) {
  const std::uint64_t rate = emulation.line.rate_bytes_per_s;
  if (rate == 0 || emulation.queue != 0) return rate == 0 ? 0 : emulation.queue;
  return std::max<std::uint64_t>(bytes_in(rate, PathEmulation::kUsualQueue), kLargestMtu);
}

std::uint64_t most_under_way(const PathEmulation& emulation) {
  const std::uint64_t rate = emulation.line.rate_bytes_per_s;
  if (rate == 0) return 0;
  Duration longest = emulation.line.delay + emulation.jitter;
  if (emulation.line.reorder > 0) longest += emulation.late;
  const std::uint64_t copies = emulation.line.duplicate > 0 ? 2 : 1;
  return copies * bytes_in(rate, longest) + queue_of(emulation);
}

}  // namespace weft::wan
