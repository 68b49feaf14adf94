// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::link {

// What a port lets its link train to, which the two ends of a link tell each other when they find
// each other: LinkWidthEnabled, LinkSpeedEnabled and LinkSpeedExtEnabled, as PortInfo codes them
// (IBA 14.2.5.6).
struct Training {
  std::uint8_t widths = 0;  // all zeros: nothing was said
  std::uint8_t speeds = 0;
  std::uint8_t extended_speeds = 0;
  friend bool operator==(const Training&, const Training&) = default;

  // In the low 24 bits of a number, as other parts of a lab are told it.
  [[nodiscard]] std::uint32_t packed() const {
    return std::uint32_t{widths} << 16 | std::uint32_t{speeds} << 8 | extended_speeds;
  }
  [[nodiscard]] static Training unpack(std::uint32_t packed) {
    return {.widths = static_cast<std::uint8_t>(packed >> 16),
            .speeds = static_cast<std::uint8_t>(packed >> 8),
            .extended_speeds = static_cast<std::uint8_t>(packed)};
  }
};

// A port as those see it who join it to one elsewhere.
class TrainingPort {
 public:
  virtual ~TrainingPort() = default;
  // As it is now.
  [[nodiscard]] virtual Training training() const = 0;
  // Of the port at the other end. The physical layer trains by it when it next comes up.
  virtual void heard_training(const Training& far) = 0;
};

}  // namespace weft::link
