// SPDX-License-Identifier: Apache-2.0
// A packet between elements: the byte-exact IBA packet, LRH through VCRC, in three stretches. The
// headers lie inline, so that a hop rewrites them in place; the payload is referred to, so that
// forwarding and replication never copy it; the end lies inline again.
//
//   header   LRH [GRH] BTH [extended headers] and perhaps the front of the payload, to 128 bytes
//   payload  bytes with an owner
//   trailer  at least the VCRC; pad bytes and ICRC too where the payload's owner lacks them
//
// How the bytes are cut is up to who made the packet: all headers are in `header`, the VCRC is in
// `trailer`. A small packet has no payload stretch at all.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/buffer_pool.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "link/receive_buffer.h"
#include "wire/endian.h"
#include "wire/lrh.h"

namespace weft::link {

class Packet;
class PacketPool;

struct PacketDelete {
  void operator()(Packet* packet) const;
};
// Packets come from a pool and are held by exactly one of these. A worker owns its pool and every
// packet of it; what crosses to another worker is copied into a ring. Letting go of a packet frees
// the buffer space it was counted in, and its share of the payload.
using PacketPtr = std::unique_ptr<Packet, PacketDelete>;

class Packet {
 public:
  static constexpr std::size_t kMaxHeader = 128;
  static constexpr std::size_t kMaxTrailer = 9;  // 3 pad bytes, ICRC, VCRC
  static constexpr std::size_t kBlock = 64;      // IBA 7.9.4.1: what credits count

  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  // Whoever changes a byte other than by rewrite_lrh() or rewrite_vl() seals the packet anew.
  [[nodiscard]] MutableBytes header() { return {header_.data(), header_size_}; }
  [[nodiscard]] Bytes header() const { return {header_.data(), header_size_}; }
  [[nodiscard]] Bytes payload() const { return payload_; }
  // What keeps the payload alive; empty where there is none. Who is done with the packet but not
  // with the payload may move it out.
  [[nodiscard]] BufferRef& payload_owner() { return owner_; }
  [[nodiscard]] MutableBytes trailer() { return {trailer_.data(), trailer_size_}; }
  [[nodiscard]] Bytes trailer() const { return {trailer_.data(), trailer_size_}; }

  // LRH through VCRC, bytes.
  [[nodiscard]] std::size_t size() const { return header_size_ + payload_.size() + trailer_size_; }
  // What it costs of the peer's credit: blocks of all that is between the delimiters.
  [[nodiscard]] std::uint16_t blocks() const {
    return static_cast<std::uint16_t>((size() + kBlock - 1) / kBlock);
  }
  [[nodiscard]] wire::Lrh lrh() const { return wire::Lrh::read(header()); }
  [[nodiscard]] Lid dlid() const {
    return Lid{wire::load_be16(header_.data() + wire::LrhView::kDlidBytes)};
  }
  [[nodiscard]] Vl vl() const {
    return Vl{
        static_cast<std::uint8_t>(wire::load_u8(header_.data() + wire::LrhView::kVlByte) >> 4)};
  }

  // Copies all of it, CRCs and all: `out` has room for size() bytes. One that is not sealed has
  // passed the checks of who lets packets in.
  void copy_to(MutableBytes out) const;

  // Of one that is sealed, the VCRC over all that it covers (IBA 7.8.2), and whether the packet
  // carries it.
  [[nodiscard]] std::uint16_t compute_vcrc() const;
  [[nodiscard]] bool vcrc_good() const;
  // Of one that is sealed: whether it carries the ICRC of its bytes (IBA 7.8.1). Raw ones have
  // none, and those too short for a BTH a wrong one.
  [[nodiscard]] bool icrc_good() const;
  // Whether its LRH says the length that it has, which is enough for all headers.
  [[nodiscard]] bool lrh_good() const;
  // For hops: write a new LRH, or the VL alone, and bring the VCRC up to date without reading the
  // rest. A packet that was corrupt stays so. PktLen must stay as it is.
  void rewrite_lrh(const wire::Lrh& lrh);
  void rewrite_vl(Vl vl);

  // Its VCRC was right, or taken for right, when it came into this process; so was its LRH, whose
  // length takes in all headers; and nothing that could damage it has happened since: hops need not
  // read all of it again. Filled in by who lets it in.
  // The first: so a packet lies in whole lines of the cache, as few as can be.
  alignas(64) bool intact = false;
  // ICRC and VCRC are in it. A packet of a program on this machine comes without, as memory needs
  // none, and has room for them in its trailer: they are made when it is copied out of here.
  bool sealed = true;
  // The space it takes where it came in. A port fills it in; whoever forwards the packet leaves it.
  BufferHold hold;
  // When it came into the element it is in: the limits of IBA 18.2.5.4 count from here. Filled in
  // by ports; on the wire, when it arrives at the other end.
  Time arrived_at{};

 private:
  friend class PacketPool;
  friend class PacketQueue;
  friend struct PacketDelete;
  Packet() = default;
  [[nodiscard]] std::byte* vcrc() { return trailer_.data() + trailer_size_ - 2; }
  [[nodiscard]] const std::byte* vcrc() const { return trailer_.data() + trailer_size_ - 2; }

  std::uint8_t header_size_ = 0;
  std::uint8_t trailer_size_ = 0;
  std::array<std::byte, kMaxTrailer> trailer_;
  Bytes payload_{};
  BufferRef owner_;
  Packet* next_ = nullptr;  // in a queue, or among the pool's free ones
  PacketPool* pool_ = nullptr;
  std::array<std::byte, kMaxHeader> header_;
};

// First in, first out, without an allocation: a packet is in at most one queue.
class PacketQueue {
 public:
  PacketQueue() = default;
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;
  ~PacketQueue() { clear(); }

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Packet* front() { return first_; }
  [[nodiscard]] const Packet* front() const { return first_; }
  void push(PacketPtr packet) {
    assert(packet != nullptr);
    Packet* const raw = packet.release();
    raw->next_ = nullptr;
    if (first_ == nullptr) {
      first_ = raw;
    } else {
      last_->next_ = raw;
    }
    last_ = raw;
    ++size_;
  }
  // It is the next one.
  void push_front(PacketPtr packet);
  // Null when empty.
  [[nodiscard]] PacketPtr pop() {
    if (first_ == nullptr) return nullptr;
    --size_;
    return PacketPtr(std::exchange(first_, first_->next_));
  }
  void clear();

 private:
  Packet* first_ = nullptr;
  Packet* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::link
