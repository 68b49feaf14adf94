// SPDX-License-Identifier: Apache-2.0
#include "phy/ddr_link/modelled_cable.h"

#include <algorithm>
#include <utility>

namespace weft::phy {
namespace {

Expected<EyeMatrix> make_eyes(const ChannelDescription& channel, LinkSpeed speed,
                              std::vector<TransmitSetting> transmit,
                              std::vector<ReceiveSetting> receive) {
  auto model = ChannelModel::make(channel);
  if (!model) return tl::unexpected(model.error());
  return EyeMatrix::make(*std::move(model), speed, std::move(transmit), std::move(receive));
}

}  // namespace

Expected<ModelledCable> ModelledCable::make(const ChannelDescription& channel,
                                            const std::array<SerdesSettings, 2>& ports) {
  std::vector<Way> ways;
  for (unsigned to = 0; to < ports.size(); ++to) {
    const ChannelDescription way = to == 1 ? channel : channel.reverse();
    auto sdr = make_eyes(way, LinkSpeed::kSdr, {sdr_transmit_setting()}, {sdr_receive_setting()});
    if (!sdr) return tl::unexpected(sdr.error());
    auto ddr = make_eyes(way, LinkSpeed::kDdr, ports[1 - to].transmit, ports[to].receive);
    if (!ddr) return tl::unexpected(ddr.error());
    ways.push_back({*std::move(sdr), *std::move(ddr)});
  }
  return ModelledCable({std::move(ways[0]), std::move(ways[1])});
}

LaneMeasurement ModelledCable::measure(unsigned to, std::uint32_t lane, std::uint32_t transmit,
                                       std::uint32_t receive, Duration time, Random& random) {
  const DwellResult seen = ways_[to].ddr.dwell(lane, transmit, receive, time, random);
  return {.matched = seen.matched, .symbol_errors = seen.symbol_errors, .eye = seen.worst_eye_mv};
}

const LaneQuality& ModelledCable::quality(unsigned to, std::uint32_t lane,
                                          const std::array<SerdesLine, 2>& lines) {
  return lines[to].speed == LinkSpeed::kSdr
             ? ways_[to].sdr.quality(lane, 0, 0)
             : ways_[to].ddr.quality(lane, lines[1 - to].transmit, lines[to].receive[lane]);
}

double ModelledCable::bit_error_rate(unsigned to, const std::array<SerdesLine, 2>& lines) {
  double worst = 0;
  for (std::uint32_t lane = 0; lane < lanes(); ++lane)
    worst = std::max(worst, quality(to, lane, lines).bit_error_rate);
  return worst;
}

double ModelledCable::symbol_error_rate(unsigned to, std::size_t used,
                                        const std::array<SerdesLine, 2>& lines) {
  double sum = 0;
  for (std::uint32_t lane = 0; lane < used; ++lane)
    sum += quality(to, lane, lines).symbol_error_rate;
  return sum / static_cast<double>(used);
}

bool ModelledCable::carries(unsigned to, std::uint32_t lane,
                            const std::array<SerdesLine, 2>& lines) {
  return quality(to, lane, lines).bit_error_rate <= kMatchedErrorRate;
}

}  // namespace weft::phy
