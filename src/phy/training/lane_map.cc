// SPDX-License-Identifier: Apache-2.0
#include "phy/training/lane_map.h"

namespace weft::phy {

std::optional<std::size_t> LaneMap::lane_at(std::size_t physical) const {
  if (mirror != 0 && physical >= mirror) return std::nullopt;
  const std::size_t lane = mirror == 0 ? physical : mirror - 1U - physical;
  if (lane >= lanes()) return std::nullopt;
  return lane;
}

bool is_configured(std::span<const LaneInput> inputs, const LaneMap& map) {
  for (std::size_t lane = 0; lane < map.lanes(); ++lane) {
    if (!is_training_of(inputs[map.physical(lane)], lane)) return false;
  }
  return true;
}

std::optional<LaneMap> widest_map(std::span<const LaneInput> inputs, std::uint8_t widths,
                                  bool may_mirror) {
  for (const LinkWidth width : kWidestFirst) {
    if (!has(widths, width) || lanes_of(width) > inputs.size()) continue;
    if (const LaneMap map{.width = width}; is_configured(inputs, map)) return map;
    if (!may_mirror) continue;
    for (const LinkWidth within : kWidestFirst) {
      const std::size_t mirror = lanes_of(within);
      if (!has(widths, within) || mirror > inputs.size() || mirror < lanes_of(width)) continue;
      const LaneMap map{.width = width, .mirror = static_cast<std::uint8_t>(mirror)};
      if (is_configured(inputs, map)) return map;
    }
  }
  return std::nullopt;
}

std::optional<LinkWidth> narrower_width(std::span<const LaneInput> inputs, std::uint8_t widths,
                                        const LaneMap& map) {
  for (const LinkWidth width : kWidestFirst) {
    if (!has(widths, width) || lanes_of(width) >= map.lanes()) continue;
    const LaneMap narrower{.width = width, .mirror = map.mirror};
    bool exact = true;
    for (std::size_t physical = 0; physical < inputs.size() && exact; ++physical) {
      const LaneInput& input = inputs[physical];
      const auto lane = narrower.lane_at(physical);
      exact = lane ? input.signal == LaneSignal::kTs2 && is_training_of(input, *lane)
                   : !has_symbols(input.signal);
    }
    if (exact) return width;
  }
  return std::nullopt;
}

}  // namespace weft::phy
