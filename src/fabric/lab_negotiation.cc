// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_negotiation.h"

namespace weft::fabric {

phy::DdrLinkOptions LabNegotiation::options(std::uint32_t lanes, Duration delay) const {
  phy::DdrLinkOptions out;
  out.ends = ends;
  out.channel = channel;
  out.channel.lanes = lanes;
  out.delay += delay;
  out.loss = mad_loss;
  out.seed = channel.seed;
  for (std::size_t side = 0; side < ends.size(); ++side) {
    out.settings[side] = {phy::default_transmit_settings(transmit[side]),
                          phy::default_receive_settings(receive[side])};
    // Numbers that the two sides do not share, and the same in each run.
    out.ends[side].first_id = static_cast<std::uint32_t>(side + 1) << 24;
  }
  return out;
}

}  // namespace weft::fabric
