// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/buffer_pool.h"
#include "base/bytes.h"
#include "link/packet.h"

namespace weft::link {

// Where a worker's packets come from. Keeps what it once made. Must outlive its packets.
class PacketPool {
 public:
  // A payload block of this size is enough for any packet of the largest MTU: 4096 + 124 bytes and
  // the VCRC, of which 128 lie in the header and 2 in the trailer.
  static constexpr std::size_t kPayloadBlock = 4096;

  // At most `max_packets` at a time; payloads are copied into blocks of `payloads`.
  PacketPool(std::size_t max_packets, BufferPool& payloads);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;
  ~PacketPool();

  // A packet of these bytes, LRH through VCRC, copied. Of its contents nothing is checked: any
  // bytes that have an LRH and a VCRC can be a packet. Null when they are too short for that or too
  // long for a payload block, and when pool or memory is used up; the caller counts it.
  [[nodiscard]] PacketPtr copy(Bytes packet);
  // A packet of the header and trailer given (copied; within Packet's limits) that refers to
  // `payload`, which `owner` keeps alive; sealed, until the caller says otherwise. Null when the
  // pool is used up.
  [[nodiscard]] PacketPtr refer(Bytes header, Bytes payload, BufferRef owner, Bytes trailer);
  // Another one like it, for one more output port: it shares payload and buffer space. Null when
  // the pool is used up.
  [[nodiscard]] PacketPtr replicate(Packet& packet);

  [[nodiscard]] std::size_t in_use() const { return in_use_; }

 private:
  friend struct PacketDelete;
  static constexpr std::size_t kSlab = 64;

  [[nodiscard]] Packet* take();
  [[nodiscard]] bool grow();
  void give_back(Packet* packet);

  const std::size_t max_packets_;
  BufferPool& payloads_;
  std::vector<std::unique_ptr<Packet[]>> slabs_;
  Packet* free_ = nullptr;
  std::size_t in_use_ = 0;
};

}  // namespace weft::link
