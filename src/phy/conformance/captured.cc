// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/captured.h"

#include <algorithm>
#include <variant>

namespace weft::phy::conformance {

CapturedExchange captured_exchange(std::span<const CapturedPacket> packets) {
  CapturedExchange out;
  std::vector<Observation>& seen = out.exchange.observations;
  for (const CapturedPacket& packet : packets) {
    const auto read = read_packet(packet.packet);
    if (const auto* const mad = std::get_if<SeenMad>(&read)) {
      ++out.messages;
      seen.push_back(
          {.time = packet.time, .node = packet.node, .mad = *mad, .arrived = packet.time});
    } else if (std::get<NoMessage>(read) == NoMessage::kDamaged) {
      ++out.damaged;
    }
  }
  std::stable_sort(seen.begin(), seen.end(),
                   [](const Observation& a, const Observation& b) { return a.time < b.time; });
  if (packets.empty()) return out;
  const auto [first, last] = std::minmax_element(
      packets.begin(), packets.end(),
      [](const CapturedPacket& a, const CapturedPacket& b) { return a.time < b.time; });
  out.exchange.begin = first->time;
  out.exchange.end = last->time;
  return out;
}

}  // namespace weft::phy::conformance
