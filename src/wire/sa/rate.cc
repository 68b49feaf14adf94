// SPDX-License-Identifier: Apache-2.0
#include "wire/sa/rate.h"

#include <algorithm>
#include <array>

namespace weft::wire {
namespace {

// Gb/s times 10, by code.
constexpr std::array<std::uint16_t, 23> kRates{0,    0,    25,   100, 300, 50,   200,  400,
                                               600,  800,  1200, 140, 560, 1120, 1680, 250,
                                               1000, 2000, 3000, 280, 500, 4000, 6000};

// Lanes by bit of LinkWidthActive; Gb/s times 10 of each by bit of LinkSpeed(Ext)Active.
unsigned lanes(std::uint8_t width) {
  switch (width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

unsigned lane_rate(const PortInfo& port) {
  switch (port.link_speed_ext_active) {
    case 1:
      return 140;
    case 2:
      return 250;
    case 4:
      return 500;
    default:
      break;
  }
  switch (port.link_speed_active) {
    case 1:
      return 25;
    case 2:
      return 50;
    case 4:
      return 100;
    default:
      return 0;
  }
}

}  // namespace

std::uint32_t rate_mbps(std::uint8_t code) {
  return code < kRates.size() ? kRates[code] * 100u : 0;
}

std::uint8_t rate_code(const PortInfo& port) {
  const unsigned rate = lanes(port.link_width_active) * lane_rate(port);
  const auto* const found = std::find(kRates.begin() + 2, kRates.end(), rate);
  return found == kRates.end() ? std::uint8_t{0}
                               : static_cast<std::uint8_t>(found - kRates.begin());
}

}  // namespace weft::wire
