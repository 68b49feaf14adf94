// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/packet_batch.h"

#include <cassert>

#include "wire/ip.h"

namespace weft::wan::dccp {

void PacketBatch::add(Bytes header, const OutFrame* data) {
  assert(!full());
  headers_.insert(headers_.end(), header.begin(), header.end());
  packets_.push_back({.header = header.size(),
                      .data = data != nullptr ? *data : OutFrame{.parts = {}, .size = 0}});
}

void PacketBatch::send(Path& below, Time now) {
  std::size_t parts = 0;
  for (const Packet& packet : packets_)
    parts += 1 + packet.data.parts.size();
  parts_.clear();
  parts_.reserve(parts);  // frames_ points there
  frames_.clear();
  std::size_t at = 0;
  for (const Packet& packet : packets_) {
    const std::size_t first = parts_.size();
    parts_.push_back(Bytes(headers_).subspan(at, packet.header));
    parts_.insert(parts_.end(), packet.data.parts.begin(), packet.data.parts.end());
    at += packet.header;
    frames_.push_back({.parts = std::span(parts_).subspan(first),
                       .size = packet.header + packet.data.size,
                       .traffic_class = static_cast<std::uint8_t>(packet.data.traffic_class |
                                                                  wire::kEcnCapable)});
  }
  below.send(frames_, now);
}

void PacketBatch::clear() {
  headers_.clear();
  packets_.clear();
}

}  // namespace weft::wan::dccp
