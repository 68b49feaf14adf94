// SPDX-License-Identifier: Apache-2.0
#include "lan/lan_address.h"

#include <cassert>

namespace weft::lan {
namespace {

constexpr std::uint8_t kGroupBit = 1;

}  // namespace

MacAddress mac_of(const PortLids& lids) {
  assert(lids.valid());
  return {kAskingAddress[0],
          kAskingAddress[1],
          kAskingAddress[2],
          lids.lmc,
          static_cast<std::uint8_t>(lids.base.value() >> 8),
          static_cast<std::uint8_t>(lids.base.value())};
}

MacKind kind_of(const MacAddress& mac) {
  if (is_same(mac, kBroadcast)) return MacKind::kBroadcast;
  if ((mac[0] & kGroupBit) != 0) return MacKind::kGroup;
  return lids_of(mac) ? MacKind::kPort : MacKind::kForeign;
}

}  // namespace weft::lan
