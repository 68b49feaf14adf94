// SPDX-License-Identifier: Apache-2.0
#include "sm/qos.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "sm/option_text.h"

namespace weft::sm {
namespace {

using Entry = wire::VlArbitrationBlock::Entry;

constexpr std::uint8_t kDataLanes = 15;
constexpr std::size_t kMostEntries = 64;  // of a table of VL arbitration

Expected<std::vector<Entry>> arbitration_of(std::string_view text) {
  const auto wrong = [&](std::string_view pair) {
    return fail(std::errc::invalid_argument,
                quoted(pair) + ": want up to 64 pairs VL:WEIGHT, VL 0 to 14 and weight 0 to 255");
  };
  std::vector<Entry> table;
  while (!text.empty()) {
    const std::string_view pair = trim(cut(text, ','));
    if (pair.empty() && text.empty()) break;
    std::string_view weight = pair;
    const auto vl = number_of(trim(cut(weight, ':')));
    const auto units = number_of(trim(weight));
    if (!vl || *vl >= kDataLanes || !units || *units > 255 || table.size() == kMostEntries) {
      return wrong(pair);
    }
    table.push_back(
        {.vl = Vl{static_cast<std::uint8_t>(*vl)}, .weight = static_cast<std::uint8_t>(*units)});
  }
  return table;
}

// Service levels that are not named have VL 0, as in OpenSM.
Expected<wire::SlToVl> lanes_of(std::string_view text) {
  wire::SlToVl lanes;
  for (std::size_t sl = 0; !text.empty(); ++sl) {
    const std::string_view number = trim(cut(text, ','));
    if (number.empty() && text.empty()) break;
    const auto vl = number_of(number);
    if (!vl || *vl > kDataLanes || sl >= lanes.vls.size()) {
      return fail(std::errc::invalid_argument,
                  quoted(number) + ": want up to 16 VLs, 0 to 14, or 15 to drop");
    }
    lanes.vls[sl] = Vl{static_cast<std::uint8_t>(*vl)};
  }
  return lanes;
}

// What is given of one kind of port; the rest is as for all.
struct Given {
  std::optional<std::uint8_t> max_vls{};
  std::optional<std::uint8_t> high_limit{};
  std::optional<std::vector<Entry>> high{};
  std::optional<std::vector<Entry>> low{};
  std::optional<wire::SlToVl> sl_to_vl{};
};

void apply(const Given& given, QosProfile& profile) {
  profile.max_vls = given.max_vls.value_or(profile.max_vls);
  profile.high_limit = given.high_limit.value_or(profile.high_limit);
  profile.high = given.high.value_or(profile.high);
  profile.low = given.low.value_or(profile.low);
  profile.sl_to_vl = given.sl_to_vl.value_or(profile.sl_to_vl);
}

Expected<void> take(std::string_view what, std::string_view value, Given& given) {
  const auto number = number_of(value);
  if (what == "max_vls") {
    if (!number || *number > kDataLanes) {
      return fail(std::errc::invalid_argument, quoted(value) + ": want 1 to 15");
    }
    if (*number == 0) return {};  // as OpenSM writes what is not given
    given.max_vls = static_cast<std::uint8_t>(*number);
    return {};
  }
  if (what == "high_limit") {
    if (value == "-1") return {};  // not given
    if (!number || *number > 255) {
      return fail(std::errc::invalid_argument, quoted(value) + ": want 0 to 255");
    }
    given.high_limit = static_cast<std::uint8_t>(*number);
    return {};
  }
  if (what == "sl2vl") {
    auto lanes = lanes_of(value);
    if (!lanes) return tl::unexpected(lanes.error());
    given.sl_to_vl = *lanes;
    return {};
  }
  if (what != "vlarb_high" && what != "vlarb_low") {
    return fail(std::errc::invalid_argument,
                "no such option; want qos_[ca_|rtr_|sw0_|swe_] and max_vls, high_limit, "
                "vlarb_high, vlarb_low or sl2vl");
  }
  auto table = arbitration_of(value);
  if (!table) return tl::unexpected(table.error());
  (what == "vlarb_high" ? given.high : given.low) = std::move(*table);
  return {};
}

bool is_yes(std::string_view value) {
  return value == "TRUE" || value == "true" || value == "yes" || value == "1";
}

}  // namespace

std::vector<Entry> QosProfile::usual_high() {
  std::vector<Entry> table;
  for (std::uint8_t vl = 0; vl < kDataLanes; ++vl)
    table.push_back({.vl = Vl{vl}, .weight = static_cast<std::uint8_t>(vl == 0 ? 4 : 0)});
  return table;
}

std::vector<Entry> QosProfile::usual_low() {
  std::vector<Entry> table;
  for (std::uint8_t vl = 0; vl < kDataLanes; ++vl)
    table.push_back({.vl = Vl{vl}, .weight = static_cast<std::uint8_t>(vl == 0 ? 0 : 4)});
  return table;
}

wire::SlToVl QosProfile::usual_lanes() {
  wire::SlToVl lanes;
  for (std::uint8_t sl = 0; sl < kDataLanes; ++sl)
    lanes.vls[sl] = Vl{sl};
  lanes.vls[15] = Vl{7};
  return lanes;
}

Expected<Qos> Qos::parse(std::string_view text, const std::string& name) {
  static constexpr std::string_view kPrefix = "qos_";
  static constexpr std::array<std::string_view, 4> kKinds{"ca_", "rtr_", "sw0_", "swe_"};
  Qos qos;
  Given all;
  std::array<Given, kKinds.size()> of_kind;
  std::size_t others = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = cut(text, '\n');
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t end = line.find_first_of(" \t=");
    std::string_view option = line.substr(0, end);
    std::string_view value = end == line.npos ? std::string_view{} : trim(line.substr(end));
    if (value.starts_with('=')) value = trim(value.substr(1));
    if (option == "qos") {
      qos.on = is_yes(value);
      continue;
    }
    if (!option.starts_with(kPrefix) || option == "qos_policy_file") {
      ++others;
      continue;
    }
    if (value == "(null)") continue;  // OpenSM writes that for what is not given
    std::string_view what = option.substr(kPrefix.size());
    Given* given = &all;
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
      if (!what.starts_with(kKinds[kind])) continue;
      what.remove_prefix(kKinds[kind].size());
      given = &of_kind[kind];
      break;
    }
    if (const auto done = take(what, value, *given); !done) {
      return fail(std::errc::invalid_argument,
                  fmt::format("{}:{}: {}: {}", name, number, quoted(option), done.error().message));
    }
  }
  if (others > 0)
    qos.notes.push_back(fmt::format("{}: {} other options are not read", name, others));
  QosProfile* const profiles[] = {&qos.adapters, &qos.routers, &qos.switch_port0,
                                  &qos.switch_ports};
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    apply(all, *profiles[kind]);
    apply(of_kind[kind], *profiles[kind]);
  }
  return qos;
}

}  // namespace weft::sm
