// SPDX-License-Identifier: Apache-2.0
#include "lan/lan_address.h"

#include <cassert>

namespace weft::lan {
namespace {

constexpr std::uint16_t kLastUnicastLid = 0xBFFF;  // IBA 4.1.3
constexpr std::uint8_t kGroupBit = 1;
constexpr std::uint8_t kLocal = 2;
constexpr std::uint8_t kMark[2] = {'W', 'L'};

}  // namespace

bool PortLids::valid() const {
  if (lmc > kMostLmc || base.value() == 0) return false;
  const unsigned more = (1U << lmc) - 1;
  return (base.value() & more) == 0 && base.value() + more <= kLastUnicastLid;
}

MacAddress mac_of(const PortLids& lids) {
  assert(lids.valid());
  return {kLocal,
          kMark[0],
          kMark[1],
          lids.lmc,
          static_cast<std::uint8_t>(lids.base.value() >> 8),
          static_cast<std::uint8_t>(lids.base.value())};
}

std::optional<PortLids> lids_of(const MacAddress& mac) {
  if (mac[0] != kLocal || mac[1] != kMark[0] || mac[2] != kMark[1]) return std::nullopt;
  const PortLids lids{.base = Lid{static_cast<std::uint16_t>(mac[4] << 8 | mac[5])}, .lmc = mac[3]};
  if (!lids.valid()) return std::nullopt;
  return lids;
}

MacKind kind_of(const MacAddress& mac) {
  if (mac == kBroadcast) return MacKind::kBroadcast;
  if ((mac[0] & kGroupBit) != 0) return MacKind::kGroup;
  return lids_of(mac) ? MacKind::kPort : MacKind::kForeign;
}

}  // namespace weft::lan
