// SPDX-License-Identifier: Apache-2.0
#include "wan/line/equipment/line_equipment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/quantity.h"
#include "wan/line/equipment/equipment_parts.h"

namespace weft::wan {
namespace {

struct Kind {
  std::string_view name;
  MadeEquipment (*make)(const EquipmentWord&);
  bool may_have_host;
};
constexpr std::array<Kind, 7> kKinds{{
    {"regenerator", make_regenerator, false},
    {"add-drop", make_add_drop, false},
    {"cell-switch", make_cell_switch, false},
    {"cell-mux", make_cell_mux, true},
    {"router", make_router, true},
    {"bridge", make_bridge, true},
    {"relay", make_relay, false},
}};
constexpr std::string_view kForeign = "foreign";

// Up to the first `end`, which goes with it.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

// Without what its place in the list says.
Expected<EquipmentWord> read_word(std::string_view text) {
  EquipmentWord word{.text = text};
  word.kind = take_until(text, ':');
  word.line = take_until(text, ':');
  while (!text.empty()) {
    const std::string_view setting = take_until(text, ':');
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos) {
      return word.wrong(fmt::format("{} is no setting, as channel=1/100 is one", setting));
    }
    word.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  const auto foreign =
      std::ranges::find(word.settings, kForeign, &decltype(word.settings)::value_type::first);
  if (foreign == word.settings.end()) return word;
  const auto rate = parse_quantity(foreign->second, kRateUnits);
  if (!rate || *rate == 0) return word.wrong("foreign is a rate, as in foreign=10Mb/s");
  word.foreign_bytes_per_s = *rate;
  word.settings.erase(foreign);
  return word;
}

std::string names_of_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds)
    names.push_back(kind.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string_view EquipmentWord::unknown_setting(
    std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : settings) {
    if (std::ranges::find(known, name) == known.end()) return name;
  }
  return {};
}

tl::unexpected<Error> EquipmentWord::wrong(std::string_view why) const {
  return fail(std::errc::invalid_argument, fmt::format("{}: {}", text, why));
}

Expected<std::vector<std::unique_ptr<LineEquipment>>> LineEquipment::parse(std::string_view list) {
  std::vector<std::unique_ptr<LineEquipment>> out;
  std::size_t hosts = 0;
  while (!list.empty()) {
    auto word = read_word(take_until(list, ','));
    if (!word) return tl::unexpected(word.error());
    const auto* const kind = std::ranges::find(kKinds, word->kind, &Kind::name);
    if (kind == kKinds.end()) {
      return word->wrong(
          fmt::format("there is no such equipment; there are {}, with what the line is, as in "
                      "regenerator:stm64",
                      names_of_kinds()));
    }
    word->place = out.size();
    if (word->foreign_bytes_per_s != 0) {
      if (!kind->may_have_host) return word->wrong("has no host of others: leave foreign out");
      word->foreign_towards = hosts % 2 == 0 ? From::kSecond : From::kFirst;
      word->foreign_pair = hosts++ / 2;
    }
    auto made = kind->make(*word);
    if (!made) return tl::unexpected(made.error());
    out.push_back(std::move(*made));
  }
  if (hosts % 2 == 0) return out;
  return fail(std::errc::invalid_argument,
              "foreign: hosts talk to each other: there must be another one behind it");
}

}  // namespace weft::wan
