// SPDX-License-Identifier: Apache-2.0
#include "sim/wan_path.h"

#include "wire/ip.h"

namespace weft::sim {

void WanPath::send(Bytes packet, std::uint8_t traffic_class) {
  const bool capable = (traffic_class & wire::kEcnBits) != 0;
  const auto fate = model_.carry(packet.size(), capable, scheduler_.now());
  if (!fate.arrives) return;
  if (fate.marked) traffic_class |= wire::kCongestionExperienced;
  std::vector<std::byte> bytes(packet.begin(), packet.end());
  if (fate.wrong_bit) bytes[*fate.wrong_bit / 8] ^= std::byte{1} << (*fate.wrong_bit % 8);
  if (fate.again) arrive_at(*fate.again, bytes, traffic_class);
  arrive_at(*fate.arrives, std::move(bytes), traffic_class);
}

void WanPath::arrive_at(Time when, std::vector<std::byte> packet, std::uint8_t traffic_class) {
  scheduler_.at(when, [this, packet = std::move(packet), traffic_class]() mutable {
    deliver_(std::move(packet), traffic_class);
  });
}

}  // namespace weft::sim
