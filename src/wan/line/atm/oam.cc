// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/oam.h"

#include <algorithm>
#include <cassert>

#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan::atm {
namespace {

constexpr std::size_t kIndicationAt = 1;
constexpr std::size_t kTagAt = 2;
constexpr std::size_t kLocationAt = 6;
constexpr std::size_t kSourceAt = kLocationAt + OamLoopback::kIdSize;
constexpr std::size_t kCrcAt = kPayloadSize - 2;

// Over 374 bits: all but the last ten, whose first six of two octets are reserved.
std::uint16_t crc_of(Bytes payload) {
  std::uint16_t crc = crc10_update(0, payload.first(kCrcAt));
  for (unsigned bit = 8; bit-- > 2;) {
    const bool in = (wire::load_u8(payload.data() + kCrcAt) >> bit & 1) != 0;
    const bool top = (crc & 0x200) != 0;
    crc = static_cast<std::uint16_t>((crc << 1 & 0x3FF) ^ (top != in ? 0x233 : 0));
  }
  return crc;
}

void seal(OamPayload& payload) {
  payload[kCrcAt] = std::byte{0};
  wire::store_be16(payload.data() + kCrcAt, crc_of(payload));
}

}  // namespace

OamPayload write_oam(OamFunction function) {
  OamPayload payload;
  payload.fill(OamLoopback::kUnused);
  payload[0] = static_cast<std::byte>(function);
  seal(payload);
  return payload;
}

OamPayload write_oam(const OamLoopback& loopback) {
  OamPayload payload;
  payload.fill(OamLoopback::kUnused);
  payload[0] = static_cast<std::byte>(OamFunction::kLoopback);
  payload[kIndicationAt] = static_cast<std::byte>(loopback.to_be_looped ? 1 : 0);
  wire::store_be32(payload.data() + kTagAt, loopback.tag);
  std::ranges::copy(loopback.location, payload.begin() + kLocationAt);
  std::ranges::copy(loopback.source, payload.begin() + kSourceAt);
  seal(payload);
  return payload;
}

std::optional<OamCell> read_oam(Bytes payload) {
  assert(payload.size() == kPayloadSize);
  if ((wire::load_be16(payload.data() + kCrcAt) & 0x3FF) != crc_of(payload)) return std::nullopt;
  OamCell cell{.type_and_function = wire::load_u8(payload.data()), .loopback = {}};
  if (!cell.is(OamFunction::kLoopback)) return cell;
  OamLoopback& loopback = cell.loopback.emplace();
  loopback.to_be_looped = (wire::load_u8(payload.data() + kIndicationAt) & 1) != 0;
  loopback.tag = wire::load_be32(payload.data() + kTagAt);
  std::ranges::copy(payload.subspan(kLocationAt, OamLoopback::kIdSize), loopback.location.begin());
  std::ranges::copy(payload.subspan(kSourceAt, OamLoopback::kIdSize), loopback.source.begin());
  return cell;
}

}  // namespace weft::wan::atm
