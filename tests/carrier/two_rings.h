// SPDX-License-Identifier: Apache-2.0
// Two sides of a link through memory, and packets to put into it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer_pool.h"
#include "carrier/ring_end.h"
#include "link/packet_pool.h"
#include "wire/flow_control.h"

namespace weft::carrier {

struct TwoRings {
  std::unique_ptr<RingMemory> left_memory = std::make_unique<RingMemory>();
  std::unique_ptr<RingMemory> right_memory = std::make_unique<RingMemory>();
  RingEnd left{*left_memory, *right_memory};
  RingEnd right{*right_memory, *left_memory};
};

// Packets of which the ring knows nothing but their length.
class SomePackets {
 public:
  [[nodiscard]] link::PacketPtr make(std::size_t size, std::uint8_t filling) {
    return pool_.copy(std::vector<std::byte>(size, std::byte{filling}));
  }

 private:
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 1000};
  link::PacketPool pool_{1000, payloads_};
};

inline std::array<std::byte, wire::FlowControl::kSize> some_credit(std::uint16_t fccl) {
  return wire::FlowControl{.vl = Vl{1}, .fctbs = 7, .fccl = fccl}.bytes();
}

}  // namespace weft::carrier
