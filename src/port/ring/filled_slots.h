// SPDX-License-Identifier: Apache-2.0
// The slots that an endpoint has just filled with packets, which it hands over to the daemon of its
// lab. Whoever calls these holds FabricShared::sending.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "port/ring/fabric_shared.h"
#include "port/ring/link_frame.h"

namespace weft::port {

// Says in the `i`th slot who sends the packet, by which facts of its port, and in which of his
// blocks its payload lies: ring::kNoBlock: in none.
inline void say_sender(ProgramEnd& end, std::size_t i, Qpn source, const PortFacts& facts,
                       std::uint32_t block) {
  ring::SendSlot& slot = end.slot(i);
  slot.epoch = facts.epoch;
  slot.source = source.value();
  slot.port = facts.port;
  slot.block = block;
}

// The packet in the `i`th slot, where it lies.
[[nodiscard]] inline LinkPieces pieces_in(ProgramEnd& end, std::size_t i) {
  const ring::SendSlot& slot = end.slot(i);
  LinkPieces pieces{.header = Bytes(slot.header).first(slot.header_size),
                    .trailer = Bytes(slot.trailer).first(slot.trailer_size)};
  if (slot.block != ring::kNoBlock) {
    pieces.payload = Bytes(end.block(slot.block)).first(slot.payload_size);
  }
  return pieces;
}

// Hands over the packets in the next `count` slots, and counts them.
inline void publish(FabricShared& shared, std::size_t count) {
  shared.end->publish(count);
  shared.counters.add_in_turn(RingCounter::kTxPackets, count);
}

}  // namespace weft::port
