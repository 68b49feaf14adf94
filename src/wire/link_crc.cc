// SPDX-License-Identifier: Apache-2.0
#include "wire/link_crc.h"

#include <cassert>

#include "wire/bth.h"
#include "wire/crc.h"
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

bool is_raw(Bytes packet) {
  const Lnh next = Lrh::parse(packet)->next_header;
  return next == Lnh::raw || next == Lnh::raw_ipv6;
}

}  // namespace

std::uint32_t link_icrc(Bytes packet) {
  assert(packet.size() >= Lrh::kSize + Bth::kSize);
  return crc32_finish(crc32_update(kIcrcPreset, packet)) ^ mask_correction(packet);
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

}  // namespace weft::wire
