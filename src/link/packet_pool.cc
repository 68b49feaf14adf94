// SPDX-License-Identifier: Apache-2.0
#include "link/packet_pool.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "base/prefetch.h"
#include "base/usual_copy.h"
#include "wire/packet.h"

namespace weft::link {

PacketPool::PacketPool(std::size_t max_packets, BufferPool& payloads)
    : max_packets_(max_packets), payloads_(payloads) {
}

PacketPool::~PacketPool() {
  assert(in_use_ == 0 && "a packet outlives its pool");
}

bool PacketPool::grow() {
  const std::size_t made = slabs_.size() * kSlab;
  if (made >= max_packets_) return false;
  try {
    slabs_.emplace_back(new Packet[kSlab]);
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::size_t i = std::min(kSlab, max_packets_ - made); i-- > 0;) {
    Packet& packet = slabs_.back()[i];
    packet.pool_ = this;
    packet.next_ = std::exchange(free_, &packet);
  }
  return true;
}

Packet* PacketPool::take() {
  if (free_ == nullptr && !grow()) return nullptr;
  ++in_use_;
  Packet* const taken = std::exchange(free_, free_->next_);
  // The next one will be filled in soon; many others may have been in between since it came back.
  constexpr std::size_t kLine = 64;
  const auto* const next = reinterpret_cast<const std::byte*>(free_);
  for (std::size_t at = 0; next != nullptr && at < sizeof(Packet); at += kLine)
    prefetch_to_write(next + at);
  return taken;
}

void PacketPool::give_back(Packet* packet) {
  // Giving the space back calls the port where the packet came in, so the packet is let go first.
  BufferHold hold = std::move(packet->hold);
  packet->owner_.reset();
  packet->payload_ = {};
  packet->next_ = std::exchange(free_, packet);
  --in_use_;
}

PacketPtr PacketPool::copy(Bytes packet) {
  if (packet.size() < wire::Lrh::kSize + wire::kVcrcSize) return nullptr;
  const Bytes front = packet.first(packet.size() - wire::kVcrcSize);
  const Bytes header = front.first(std::min(front.size(), Packet::kMaxHeader));
  const Bytes rest = front.subspan(header.size());
  BufferRef owner;
  Bytes payload{};
  if (!rest.empty()) {
    if (rest.size() > payloads_.block_bytes()) return nullptr;
    auto block = payloads_.acquire();
    if (!block) return nullptr;
    owner = std::move(*block);
    std::memcpy(owner.bytes().data(), rest.data(), rest.size());
    payload = owner.bytes().first(rest.size());
  }
  return refer(header, payload, std::move(owner), packet.last(wire::kVcrcSize));
}

PacketPtr PacketPool::refer(Bytes header, Bytes payload, BufferRef owner, Bytes trailer) {
  assert(header.size() >= wire::Lrh::kSize && header.size() <= Packet::kMaxHeader);
  assert(trailer.size() >= wire::kVcrcSize && trailer.size() <= Packet::kMaxTrailer);
  Packet* const packet = take();
  if (packet == nullptr) return nullptr;
  copy_usual<Packet::kMaxHeader>(header, packet->header_.data());
  copy_usual<wire::kVcrcSize>(trailer, packet->trailer_.data());
  packet->header_size_ = static_cast<std::uint8_t>(header.size());
  packet->trailer_size_ = static_cast<std::uint8_t>(trailer.size());
  packet->payload_ = payload;
  packet->owner_ = std::move(owner);
  packet->intact = false;
  packet->sealed = true;
  packet->arrived_at = {};
  return PacketPtr(packet);
}

PacketPtr PacketPool::replicate(Packet& packet) {
  PacketPtr other = refer(packet.header(), packet.payload(), packet.owner_, packet.trailer());
  if (other == nullptr) return nullptr;
  other->intact = packet.intact;
  other->sealed = packet.sealed;
  other->hold = packet.hold.share();
  other->arrived_at = packet.arrived_at;
  return other;
}

}  // namespace weft::link
