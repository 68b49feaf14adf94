// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/buffer_pool.h"
#include "base/bytes.h"
#include "link/packet_pool.h"
#include "wan/fibre_code.h"

namespace weft::wan {

// As FibreCode::put_packet(), of the bytes of a packet, LRH through VCRC, for who has no packets of
// a fabric. False: they are none.
[[nodiscard]] inline bool put_packet(FibreCode& code, std::vector<std::byte>& out, Bytes packet) {
  BufferPool payloads(link::PacketPool::kPayloadBlock, 1);
  link::PacketPool pool(1, payloads);
  const link::PacketPtr copy = pool.copy(packet);
  return copy != nullptr && code.put_packet(out, *copy);
}

}  // namespace weft::wan
