// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "wan/line/gfp/gfp_header.h"

namespace weft::wan {

// What two ends agree on beforehand: GFP itself tells, and does not negotiate.
struct GfpOptions {
  GfpUser user = GfpUser::kInfiniBand;
  bool fcs = true;  // each packet is followed by its CRC-32; without, wrong bits are not noticed
  // With a linear extension header, which names the channel; else without.
  std::optional<std::uint8_t> channel = std::nullopt;
  std::size_t longest_packet = 16'384;  // that is taken in; at most what a frame has room for
  // Right core headers in a row that confirm the first one (6.3.1): 1 to 7.
  std::uint8_t delta = 1;

  [[nodiscard]] constexpr GfpType data_type() const {
    return {.payload = GfpPayload::kClientData,
            .fcs = fcs,
            .extension = channel ? GfpExtension::kLinear : GfpExtension::kNull,
            .upi = static_cast<std::uint8_t>(user)};
  }
  // Client management frames have neither FCS nor extension header here.
  [[nodiscard]] static constexpr GfpType management_type(GfpManagement what) {
    return {.payload = GfpPayload::kClientManagement, .upi = static_cast<std::uint8_t>(what)};
  }
};

}  // namespace weft::wan
