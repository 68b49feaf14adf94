// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "phy/link_speed.h"
#include "phy/negotiation/options.h"

namespace weft::phy {

// Of PortInfo (IBA 14.2.5.6), as codes of that attribute.
struct PortSpeeds {
  std::uint8_t supported = 1;
  std::uint8_t enabled = 1;
  std::uint8_t active = 1;

  friend bool operator==(const PortSpeeds&, const PortSpeeds&) = default;
};

// Of a port that negotiates as the DDR auto-negotiation specification says in table 3. One that is
// SDR only has no other speed, and one that is DDR only has DDR alone enabled; LinkSpeedSupported
// has no code for that.
[[nodiscard]] constexpr PortSpeeds port_speeds(SpeedMode mode, LinkSpeed active) {
  constexpr std::uint8_t kSdrCode = 1;
  constexpr std::uint8_t kDdrCode = 2;
  constexpr std::uint8_t kEither = kSdrCode | kDdrCode;
  const auto now = static_cast<std::uint8_t>(active);
  if (mode == SpeedMode::kSdrOnly) return {kSdrCode, kSdrCode, kSdrCode};
  return {kEither, mode == SpeedMode::kDdrOnly ? kDdrCode : kEither, now};
}

}  // namespace weft::phy
