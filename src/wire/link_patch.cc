// SPDX-License-Identifier: Apache-2.0
#include "wire/link_patch.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/deth.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/opcode.h"
#include "wire/packet.h"
#include "wire/rdeth.h"

namespace weft::wire {
namespace {

constexpr std::size_t kPKeyAt = 2;                             // in the BTH
constexpr std::size_t kBehindPKey = Bth::kSize - kPKeyAt - 2;  // of the BTH
constexpr std::size_t kDestQpAt = 5;
constexpr std::size_t kSgidAt = 8;  // in the GRH
constexpr std::size_t kDgidAt = 24;

// Two bytes that end where eight would.
std::uint64_t pkey_difference(PKey before, PKey after) {
  return std::uint64_t{__builtin_bswap16(before.value() ^ after.value())} << 48;
}

// The ICRC is the last thing that the VCRC covers. Its bytes end where eight would.
CrcChange with_icrc(std::uint32_t icrc, std::uint16_t vcrc) {
  if (icrc != 0)
    vcrc = static_cast<std::uint16_t>(vcrc ^ crc16_change(std::uint64_t{icrc} << 32, 0));
  return {icrc, vcrc};
}

}  // namespace

LinkPatch::LinkPatch(MutableBytes packet) : packet_(packet) {
  const Lrh lrh = Lrh::read(packet);
  covered_ = packet.size() - kVcrcSize;
  global_ = lrh.next_header == Lnh::iba_global;
  if (!global_ && lrh.next_header != Lnh::iba_local) return;
  transport_ = Lrh::kSize + (global_ ? Grh::kSize : 0);
  covered_ -= kIcrcSize;
  payload_ = transport_ + Bth::kSize +
             info(static_cast<Opcode>(load_u8(packet.data() + transport_))).headers_size;
  assert(payload_ <= covered_);
}

std::size_t LinkPatch::deth() const {
  const OpcodeInfo& opcode = info(static_cast<Opcode>(load_u8(packet_.data() + transport_)));
  assert(opcode.has(kDeth));
  return transport_ + Bth::kSize + (opcode.has(kRdeth) ? Rdeth::kSize : 0);
}

// Of the byte there, the bits that the ICRC covers (IBA 7.8.1).
std::uint8_t LinkPatch::invariant_bits(std::size_t at) const {
  if (at == transport_ + Bth::kUncoveredByte) return 0;
  if (!global_) return at == LrhView::kVlByte ? 0x0F : 0xFF;
  if (at < Lrh::kSize) return 0;
  if (at >= Lrh::kSize + 8) return 0xFF;
  constexpr std::array<std::uint8_t, 8> kGrhBits{0xF0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0};
  return kGrhBits[at - Lrh::kSize];
}

void LinkPatch::change(std::size_t at, Bytes bytes) {
  assert(bytes.size() <= 8 && at + bytes.size() <= covered_);
  std::array<std::byte, 8> all{};
  std::array<std::byte, 8> invariant{};
  // So placed that they end where eight bytes would.
  const std::size_t before = all.size() - bytes.size();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::byte difference = packet_[at + i] ^ bytes[i];
    all[before + i] = difference;
    if (at + i < transport_ + Bth::kSize) {
      invariant[before + i] = difference & std::byte{invariant_bits(at + i)};
    } else {
      invariant[before + i] = difference;
    }
    packet_[at + i] = bytes[i];
  }
  const std::size_t behind = covered_ - at - bytes.size();
  if (transport_ == 0) {
    vcrc_ = static_cast<std::uint16_t>(vcrc_ ^ crc16_change(load_le64(all.data()), behind));
    return;
  }
  icrc_ ^= crc32_change(load_le64(invariant.data()), behind);
  vcrc_ =
      static_cast<std::uint16_t>(vcrc_ ^ crc16_change(load_le64(all.data()), behind + kIcrcSize));
}

void LinkPatch::set_vl(Vl vl) {
  const std::array byte{
      static_cast<std::byte>(vl.value() << 4 | (load_u8(packet_.data() + LrhView::kVlByte) & 0xF))};
  changed_ |= kLrh;
  change(LrhView::kVlByte, byte);
}

void LinkPatch::set_sl(Sl sl) {
  const std::array byte{
      static_cast<std::byte>(sl.value() << 4 | (load_u8(packet_.data() + LrhView::kSlByte) & 0xF))};
  changed_ |= kLrh;
  change(LrhView::kSlByte, byte);
}

void LinkPatch::set_dlid(Lid dlid) {
  std::array<std::byte, 2> bytes;
  store_be16(bytes.data(), dlid.value());
  changed_ |= kLrh;
  change(LrhView::kDlidBytes, bytes);
}

void LinkPatch::set_slid(Lid slid) {
  std::array<std::byte, 2> bytes;
  store_be16(bytes.data(), slid.value());
  changed_ |= kLrh;
  change(LrhView::kSlidBytes, bytes);
}

void LinkPatch::set_route(Sl sl, Lid dlid, Lid slid) {
  const std::uint64_t before = load_le64(packet_.data());
  LrhView lrh(packet_);
  lrh.set_sl(sl);
  lrh.set_dlid(dlid);
  lrh.set_slid(slid);
  const std::uint64_t difference = before ^ load_le64(packet_.data());
  changed_ |= kLrh;
  const std::size_t behind = packet_.size() - kVcrcSize - Lrh::kSize;
  vcrc_ = static_cast<std::uint16_t>(vcrc_ ^ crc16_change(difference, behind));
  // The VL, which is not covered, is not among these.
  if (transport_ != 0 && !global_) icrc_ ^= crc32_change(difference, covered_ - Lrh::kSize);
}

void LinkPatch::set_sgid(const Gid& gid) {
  assert(global_);
  write(Lrh::kSize + kSgidAt, std::as_bytes(std::span(gid.bytes())));
}

void LinkPatch::set_dgid(const Gid& gid) {
  assert(global_);
  write(Lrh::kSize + kDgidAt, std::as_bytes(std::span(gid.bytes())));
}

void LinkPatch::set_hop_limit(std::uint8_t hops) {
  assert(global_);
  const std::array byte{std::byte{hops}};
  write(Lrh::kSize + GrhView::kHopLimitByte, byte);
}

void LinkPatch::set_pkey(PKey pkey) {
  assert(transport_ != 0);
  std::array<std::byte, 2> bytes;
  store_be16(bytes.data(), pkey.value());
  changed_ |= kPKey;
  change(transport_ + kPKeyAt, bytes);
}

void LinkPatch::set_dest_qp(Qpn qpn) {
  assert(transport_ != 0);
  std::array<std::byte, 3> bytes;
  store_be24(bytes.data(), qpn.value());
  changed_ |= kTransport;
  change(transport_ + kDestQpAt, bytes);
}

void LinkPatch::set_qkey(QKey qkey) {
  std::array<std::byte, 4> bytes;
  store_be32(bytes.data(), qkey.value());
  changed_ |= kTransport;
  change(deth(), bytes);
}

void LinkPatch::set_source_qp(Qpn qpn) {
  std::array<std::byte, 3> bytes;
  store_be24(bytes.data(), qpn.value());
  changed_ |= kTransport;
  change(deth() + 5, bytes);
}

void LinkPatch::write(std::size_t at, Bytes bytes) {
  assert(at + bytes.size() <= covered_);
  while (!bytes.empty()) {
    const Bytes some = bytes.first(std::min<std::size_t>(8, bytes.size()));
    if (at < Lrh::kSize) {
      changed_ |= kLrh;
    } else if (transport_ != 0 && at < transport_) {
      changed_ |= kGrh;
    } else if (transport_ != 0 && at < payload_) {
      changed_ |= kTransport;
    } else {
      changed_ |= kPayload;
    }
    change(at, some);
    at += some.size();
    bytes = bytes.subspan(some.size());
  }
}

void LinkPatch::finish() {
  std::byte* const vcrc = packet_.data() + packet_.size() - kVcrcSize;
  const CrcChange change = with_icrc(icrc_, vcrc_);
  if (change.icrc != 0) {
    std::byte* const icrc = packet_.data() + covered_;
    store_le32(icrc, load_le32(icrc) ^ change.icrc);
  }
  store_le16(vcrc, static_cast<std::uint16_t>(load_le16(vcrc) ^ change.vcrc));
  icrc_ = 0;
  vcrc_ = 0;
}

bool LinkPatch::finish_checked() {
  finish();
  return check_link_crcs(packet_).good();
}

void rewrite_pkey(MutableBytes packet, PKey pkey) {
  const std::size_t headers = link_headers_size(packet);
  std::byte* const at = packet.data() + headers - Bth::kSize + kPKeyAt;
  std::byte* const icrc = packet.data() + packet.size() - kVcrcSize - kIcrcSize;
  std::byte* const vcrc = icrc + kIcrcSize;
  const std::size_t behind = packet.size() - kVcrcSize - kIcrcSize - headers;
  const CrcChange change = pkey_change(PKey{load_be16(at)}, pkey, behind);
  store_be16(at, pkey.value());
  store_le32(icrc, load_le32(icrc) ^ change.icrc);
  store_le16(vcrc, static_cast<std::uint16_t>(load_le16(vcrc) ^ change.vcrc));
}

CrcChange pkey_change(PKey before, PKey after, std::size_t behind) {
  const std::uint64_t difference = pkey_difference(before, after);
  const std::size_t distance = behind + kBehindPKey;
  return with_icrc(crc32_change(difference, distance),
                   crc16_change(difference, distance + kIcrcSize));
}

std::uint32_t pkey_icrc_change(PKey before, PKey after, std::size_t behind) {
  return crc32_change(pkey_difference(before, after), behind + kBehindPKey);
}

CrcChange lrh_change(std::uint64_t before, std::uint64_t after, std::size_t covered, bool global) {
  constexpr std::uint64_t kVl = 0xF0;
  const std::uint64_t difference = before ^ after;
  const std::size_t distance = covered - Lrh::kSize;
  return with_icrc(global ? 0 : crc32_change(difference & ~kVl, distance),
                   crc16_change(difference, distance + kIcrcSize));
}

}  // namespace weft::wire
