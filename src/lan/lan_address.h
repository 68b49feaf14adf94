// SPDX-License-Identifier: Apache-2.0
// The Ethernet address of a LAN port: made of the LIDs of its port of the fabric, so that whoever
// knows the one knows the other and nobody has to be asked. It is locally administered (IEEE 802,
// 8.4), of the quadrant that IEEE 802c leaves to administrators, and unique in a subnet as LIDs
// are.
//
//   octet  0         1         2         3         4         5
//          00000010  01010111  01001100  00000LLL  BBBBBBBB  BBBBBBBB
//                ||   'W'       'L'           |    base LID, high octet first
//                ||                           +--- LMC
//                |+-- group bit: clear, one station
//                +--- local bit: set
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/mac_address.h"

namespace weft::lan {

inline constexpr MacAddress kBroadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

// From which a LAN port asks its own host. Its first three octets are those of all addresses that
// tell LIDs; LID 0 is no port's, and frames of this address never go onto the fabric: behind the
// bridges of several nodes there may be one Ethernet, by which the one hears what the other asks.
inline constexpr MacAddress kAskingAddress{0x02, 'W', 'L', 0, 0, 0};

// The LIDs of a port: 2^lmc of them, from `base` on (IBA 4.1.3).
struct PortLids {
  static constexpr std::uint8_t kMostLmc = 7;  // IBA 14.2.5.6: three bits

  Lid base{};
  std::uint8_t lmc = 0;

  friend bool operator==(const PortLids&, const PortLids&) = default;

  // Unicast LIDs (0x0001 to 0xBFFF) all of them, and the low `lmc` bits of the first are zero.
  [[nodiscard]] bool valid() const {
    constexpr std::uint16_t kLastUnicast = 0xBFFF;  // IBA 4.1.3
    if (lmc > kMostLmc || base.value() == 0) return false;
    const unsigned more = (1U << lmc) - 1;
    return (base.value() & more) == 0 && base.value() + more <= kLastUnicast;
  }
  [[nodiscard]] bool contains(Lid lid) const { return lid.value() >> lmc == base.value() >> lmc; }
};

// The address of a port whose LIDs are valid().
[[nodiscard]] MacAddress mac_of(const PortLids& lids);
// The LIDs that an address tells; nothing: it is not one that mac_of() makes.
[[nodiscard]] inline std::optional<PortLids> lids_of(const MacAddress& mac) {
  if (mac[0] != kAskingAddress[0] || mac[1] != kAskingAddress[1] || mac[2] != kAskingAddress[2]) {
    return std::nullopt;
  }
  const PortLids lids{.base = Lid{static_cast<std::uint16_t>(mac[4] << 8 | mac[5])}, .lmc = mac[3]};
  return lids.valid() ? std::optional(lids) : std::nullopt;
}

enum class MacKind : std::uint8_t {
  kPort,       // one that mac_of() makes
  kBroadcast,  // all ones
  kGroup,      // the group bit is set, and it is not all ones
  kForeign,    // of one station whose LID it does not tell
};
[[nodiscard]] MacKind kind_of(const MacAddress& mac);

}  // namespace weft::lan
