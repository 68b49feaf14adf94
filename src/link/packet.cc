// SPDX-License-Identifier: Apache-2.0
#include "link/packet.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "link/packet_pool.h"
#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace weft::link {

using wire::Lrh;

namespace {

// Through the ICRC, bytes, IBA 7.7.8: so whoever looks at a packet's BTH finds one.
std::size_t least_bytes(wire::Lnh next_header) {
  constexpr std::size_t kTransport = Lrh::kSize + wire::Bth::kSize + wire::kIcrcSize;
  switch (next_header) {
    case wire::Lnh::iba_local:
      return kTransport;
    case wire::Lnh::iba_global:
      return kTransport + wire::Grh::kSize;
    default:
      return 20;  // raw
  }
}

}  // namespace

void PacketDelete::operator()(Packet* packet) const {
  packet->pool_->give_back(packet);
}

void Packet::copy_to(MutableBytes out) const {
  assert(out.size() >= size());
  // Of a memcpy whose length is known to be short GCC makes a string instruction, which takes ten
  // times as long as the library's to copy all of a header.
  std::byte* to = std::copy(header_.data(), header_.data() + header_size_, out.data());
  if (!payload_.empty()) std::memcpy(to, payload_.data(), payload_.size());
  std::copy(trailer_.data(), trailer_.data() + trailer_size_, to + payload_.size());
  if (!sealed) wire::seal_link_packet(out.first(size()));
}

std::uint16_t Packet::compute_vcrc() const {
  std::uint16_t state = wire::crc16_update(wire::kVcrcPreset, header());
  if (!payload_.empty()) state = wire::crc16_update(state, payload_);
  if (trailer_size_ > wire::kVcrcSize) {
    state = wire::crc16_update(state, trailer().first(trailer_size_ - wire::kVcrcSize));
  }
  return wire::crc16_finish(state);
}

bool Packet::lrh_good() const {
  const Lrh lrh = this->lrh();
  const std::size_t covered = size() - wire::kVcrcSize;
  return lrh.link_version == 0 && lrh.packet_bytes() == covered &&
         covered >= least_bytes(lrh.next_header);
}

bool Packet::icrc_good() const {
  const Lrh lrh = this->lrh();
  if (lrh.next_header == wire::Lnh::raw || lrh.next_header == wire::Lnh::raw_ipv6) return true;
  const std::size_t front = wire::link_headers_size(header());
  if (header_size_ < front || size() < front + wire::kIcrcSize + wire::kVcrcSize) return false;
  std::size_t left = size() - wire::kIcrcSize - wire::kVcrcSize;  // that it covers
  std::array<std::byte, wire::kIcrcSize> carried;
  std::size_t found = 0;
  const Bytes covered = header().first(std::min<std::size_t>(left, header_size_));
  std::uint32_t state = wire::link_icrc_front(covered);
  left -= covered.size();
  for (Bytes stretch : {header().subspan(covered.size()), payload_, trailer()}) {
    const Bytes more = stretch.first(std::min(left, stretch.size()));
    state = wire::crc32_update(state, more);
    left -= more.size();
    stretch = stretch.subspan(more.size());
    const std::size_t icrc = std::min(carried.size() - found, stretch.size());
    std::copy_n(stretch.begin(), icrc, carried.begin() + static_cast<std::ptrdiff_t>(found));
    found += icrc;
  }
  return wire::load_le32(carried.data()) == wire::crc32_finish(state);
}

bool Packet::vcrc_good() const {
  return wire::load_le16(vcrc()) == compute_vcrc();
}

void Packet::rewrite_lrh(const Lrh& lrh) {
  assert(lrh.packet_words == this->lrh().packet_words);
  const std::uint64_t before = wire::load_le64(header_.data());
  lrh.write(header());
  if (!sealed) return;
  const std::uint64_t difference = before ^ wire::load_le64(header_.data());
  const std::size_t distance = size() - wire::kVcrcSize - Lrh::kSize;
  const auto change = wire::crc16_change(difference, distance);
  wire::store_le16(vcrc(), static_cast<std::uint16_t>(wire::load_le16(vcrc()) ^ change));
}

void Packet::rewrite_vl(Vl vl) {
  if (sealed) {
    const std::uint16_t change = wire::vl_change(this->vl(), vl, size() - wire::kVcrcSize);
    wire::store_le16(vcrc(), static_cast<std::uint16_t>(wire::load_le16(vcrc()) ^ change));
  }
  wire::LrhView(header()).set_vl(vl);
}

void PacketQueue::push_front(PacketPtr packet) {
  assert(packet != nullptr);
  Packet* const raw = packet.release();
  raw->next_ = first_;
  first_ = raw;
  if (size_ == 0) last_ = raw;
  ++size_;
}

void PacketQueue::clear() {
  while (!empty()) {
    pop().reset();
  }
}

}  // namespace weft::link
