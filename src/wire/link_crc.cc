// SPDX-License-Identifier: Apache-2.0
#include "wire/link_crc.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/crc_slice.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::wire {
namespace {

// Which bits of an 8-byte word (in memory order, low byte first) count as ones.
constexpr std::uint64_t kLocalLrhMask = 0xF0;                // VL
constexpr std::uint64_t kGlobalLrhMask = ~std::uint64_t{0};  // all of it
constexpr std::uint64_t kGrhMask = 0xFF00'0000'FFFF'FF0F;    // TClass FlowLabel HopLmt
constexpr std::uint64_t kBthMask = std::uint64_t{0xFF} << 8 * Bth::kUncoveredByte;

// The VCRC starts at ones over the very bytes whose ICRC is wanted, so both come from one pass
// over the bytes as they are; masking is then a change of a few header words.
std::uint32_t mask_correction(Bytes covered) {
  const auto correct = [&](std::size_t at, std::uint64_t mask) {
    return crc32_change(~load_le64(covered.data() + at) & mask, covered.size() - at - 8);
  };
  if (Lrh::parse(covered)->next_header == Lnh::iba_local) {
    return correct(0, kLocalLrhMask) ^ correct(Lrh::kSize, kBthMask);
  }
  return correct(0, kGlobalLrhMask) ^ correct(Lrh::kSize, kGrhMask) ^
         correct(Lrh::kSize + Grh::kSize, kBthMask);
}

// What each bit of the VL does to the VCRC of a packet of so many words: the most used change of
// all, at every hop that maps SL to VL, and only four bits of it. The lowest bit of the VL is in
// the lowest 16 bits.
constexpr std::size_t kMaxWords = 2047;  // of an 11-bit PktLen

consteval std::array<std::uint64_t, kMaxWords + 1> make_vl_effects() {
  constexpr auto kTable = detail::kSlices16<8>[0];
  // A VL bit stands at the end of the first byte: x^3 to x^0, then the rest of the packet, and x^16
  // because a register holds a message times that. Without a packet, one byte is missing from that.
  std::array<std::uint16_t, 4> effects{};
  for (int bit = 0; bit < 4; ++bit) {
    const auto effect = detail::x_power(static_cast<std::uint64_t>(3 - bit + 16 - 8), detail::kP16);
    effects[static_cast<std::size_t>(bit)] =
        static_cast<std::uint16_t>(detail::reflect(effect, 16));
  }
  std::array<std::uint64_t, kMaxWords + 1> table{};
  for (std::uint64_t& entry : table) {
    for (std::size_t bit = 0; bit < 4; ++bit) {
      std::uint16_t& effect = effects[bit];
      entry |= std::uint64_t{effect} << (16 * bit);
      for (int byte = 0; byte < 4; ++byte) {
        effect = static_cast<std::uint16_t>((effect >> 8) ^ kTable[effect & 0xFF]);
      }
    }
  }
  return table;
}

constexpr auto kVlEffects = make_vl_effects();

// For each VL difference, ones where the effects of its bits are.
constexpr auto kVlSelect = [] {
  std::array<std::uint64_t, 16> select{};
  for (std::size_t vl = 0; vl < 16; ++vl) {
    for (std::size_t bit = 0; bit < 4; ++bit) {
      if ((vl >> bit & 1) != 0) select[vl] |= std::uint64_t{0xFFFF} << (16 * bit);
    }
  }
  return select;
}();

bool is_raw(Bytes packet) {
  const Lnh next = Lrh::parse(packet)->next_header;
  return next == Lnh::raw || next == Lnh::raw_ipv6;
}

}  // namespace

std::uint32_t link_icrc(Bytes packet) {
  assert(packet.size() >= Lrh::kSize + Bth::kSize);
  return crc32_finish(crc32_update(kIcrcPreset, packet)) ^ mask_correction(packet);
}

std::size_t link_headers_size(Bytes lrh) {
  const bool global = Lrh::parse(lrh)->next_header == Lnh::iba_global;
  return Lrh::kSize + (global ? Grh::kSize : 0) + Bth::kSize;
}

std::uint32_t link_icrc_front(Bytes front) {
  const std::size_t size = link_headers_size(front);
  assert(front.size() >= size);
  std::array<std::byte, Lrh::kSize + Grh::kSize + Bth::kSize> masked;
  std::copy_n(front.begin(), size, masked.begin());
  const auto mask = [&](std::size_t at, std::uint64_t ones) {
    store_le64(masked.data() + at, load_le64(masked.data() + at) | ones);
  };
  const bool global = size == masked.size();
  mask(0, global ? kGlobalLrhMask : kLocalLrhMask);
  if (global) mask(Lrh::kSize, kGrhMask);
  mask(size - Bth::kSize, kBthMask);
  return crc32_update(crc32_update(kIcrcPreset, Bytes(masked).first(size)), front.subspan(size));
}

LinkCrcCheck check_link_crcs(Bytes packet) {
  const Bytes covered = packet.first(packet.size() - kVcrcSize);
  const std::uint16_t vcrc = load_le16(packet.data() + covered.size());
  if (is_raw(packet)) {
    return {true, crc16_finish(crc16_update(kVcrcPreset, covered)) == vcrc};
  }
  const Bytes invariant = covered.first(covered.size() - kIcrcSize);
  const Bytes icrc = covered.last(kIcrcSize);
  const CrcPair pair = crc_both_update({}, invariant);
  const std::uint32_t expected = crc32_finish(pair.icrc) ^ mask_correction(invariant);
  return {load_le32(icrc.data()) == expected, crc16_finish(crc16_update(pair.vcrc, icrc)) == vcrc};
}

void seal_link_packet(MutableBytes packet) {
  const MutableBytes covered = packet.first(packet.size() - kVcrcSize);
  std::byte* const vcrc = packet.data() + covered.size();
  if (is_raw(packet)) {
    store_le16(vcrc, crc16_finish(crc16_update(kVcrcPreset, covered)));
    return;
  }
  const MutableBytes invariant = covered.first(covered.size() - kIcrcSize);
  const MutableBytes icrc = covered.last(kIcrcSize);
  const CrcPair pair = crc_both_update({}, invariant);
  store_le32(icrc.data(), crc32_finish(pair.icrc) ^ mask_correction(invariant));
  store_le16(vcrc, crc16_finish(crc16_update(pair.vcrc, icrc)));
}

void update_vcrc(MutableBytes packet, std::uint64_t lrh_before) {
  assert(packet.size() >= Lrh::kSize + kVcrcSize);
  std::byte* const vcrc = packet.data() + packet.size() - kVcrcSize;
  const std::uint64_t difference = lrh_before ^ load_le64(packet.data());
  const std::uint16_t change = crc16_change(difference, packet.size() - kVcrcSize - Lrh::kSize);
  store_le16(vcrc, static_cast<std::uint16_t>(load_le16(vcrc) ^ change));
}

std::uint16_t vl_change(Vl before, Vl after, std::size_t covered) {
  assert(covered % 4 == 0);
  std::uint64_t change =
      kVlEffects[covered / 4 & kMaxWords] & kVlSelect[before.value() ^ after.value()];
  change ^= change >> 32;
  change ^= change >> 16;
  return static_cast<std::uint16_t>(change);
}

void rewrite_vl(MutableBytes packet, Vl vl) {
  assert(packet.size() >= Lrh::kSize + kVcrcSize);
  LrhView lrh(packet);
  std::byte* const vcrc = packet.data() + packet.size() - kVcrcSize;
  const std::uint16_t change = vl_change(lrh.vl(), vl, packet.size() - kVcrcSize);
  lrh.set_vl(vl);
  store_le16(vcrc, static_cast<std::uint16_t>(load_le16(vcrc) ^ change));
}

}  // namespace weft::wire
