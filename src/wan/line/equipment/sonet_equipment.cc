// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "wan/line/equipment/equipment_parts.h"
#include "wan/line/sonet/add_drop.h"
#include "wan/line/sonet/regenerator.h"

namespace weft::wan {
namespace {

class RegeneratorPair final : public LineEquipment {
 public:
  explicit RegeneratorPair(sonet::Level level) : directions_{{{level, {}, {}}, {level, {}, {}}}} {}

  void pass(From from, MutableBytes octets, Time) override {
    sonet::Regenerator& direction = directions_[static_cast<std::size_t>(from)];
    pass_in_pieces(octets, direction, direction, [] {});
  }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out;
    for (const sonet::Regenerator& direction : directions_)
      accumulate(out, direction.counters().snapshot());
    return out;
  }

 private:
  std::array<sonet::Regenerator, 2> directions_;
};

class AddDrop final : public LineEquipment {
 public:
  explicit AddDrop(sonet::Level level) : multiplexer_({.level = level}) {}

  void pass(From from, MutableBytes octets, Time) override {
    using sonet::Side;
    const bool first = from == From::kFirst;
    pass_in_pieces(octets, multiplexer_.from(first ? Side::kWest : Side::kEast),
                   multiplexer_.to(first ? Side::kEast : Side::kWest), [] {});
  }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = multiplexer_.counters(sonet::Side::kWest).snapshot();
    accumulate(out, multiplexer_.counters(sonet::Side::kEast).snapshot());
    return out;
  }

 private:
  sonet::AddDropMultiplexer multiplexer_;
};

template <class Made>
MadeEquipment make_at_level(const EquipmentWord& word) {
  const auto level = level_of(word.line);
  if (!level || !word.settings.empty()) {
    return word.wrong("says which line it is in, stm1, stm4, stm16 or stm64, and nothing else");
  }
  return std::make_unique<Made>(*level);
}

}  // namespace

std::optional<sonet::Level> level_of(std::string_view name) {
  constexpr std::array<std::string_view, sonet::kLevels> kNames{"stm1", "stm4", "stm16", "stm64"};
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return sonet::kAllLevels[static_cast<std::size_t>(found - kNames.begin())];
}

MadeEquipment make_regenerator(const EquipmentWord& word) {
  return make_at_level<RegeneratorPair>(word);
}

MadeEquipment make_add_drop(const EquipmentWord& word) {
  return make_at_level<AddDrop>(word);
}

}  // namespace weft::wan
