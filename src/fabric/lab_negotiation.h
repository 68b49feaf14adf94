// SPDX-License-Identifier: Apache-2.0
// A link whose ports find out how fast they can be, as a lab has it.
#pragma once

#include <array>
#include <cstdint>

#include "phy/channel/channel_model.h"
#include "phy/ddr_link/ddr_link.h"
#include "phy/negotiation/options.h"

namespace weft::fabric {

inline constexpr std::uint8_t kUsualTransmitConfigurations = 3;
inline constexpr std::uint8_t kUsualReceiveConfigurations = 4;

struct LabNegotiation {
  // All but mode, lanes and numbers of configurations, which come from the ports and from below.
  std::array<phy::NegotiationOptions, 2> ends;
  // How many configurations each port tries: 1 to 9.
  std::array<std::uint8_t, 2> transmit{kUsualTransmitConfigurations, kUsualTransmitConfigurations};
  std::array<std::uint8_t, 2> receive{kUsualReceiveConfigurations, kUsualReceiveConfigurations};
  phy::ChannelDescription channel;  // from the first end to the second; lanes are the link's
  double mad_loss = 0;              // of the ports' messages, from 0 to 1

  friend bool operator==(const LabNegotiation&, const LabNegotiation&) = default;

  // Of a link of so many lanes, whose packets are `delay` longer on their way than in a short
  // cable.
  [[nodiscard]] phy::DdrLinkOptions options(std::uint32_t lanes, Duration delay) const;
};

}  // namespace weft::fabric
