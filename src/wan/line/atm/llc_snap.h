// SPDX-License-Identifier: Apache-2.0
// What a PDU of AAL type 5 carries, said by eight octets before it (RFC 2684, 5.1: LLC
// AA-AA-03, OUI 00-00-00, EtherType): IP by its own EtherType, anything else of this project by
// that of kFrame (encapsulation/out_packet.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weft::wan::atm {

inline constexpr std::size_t kLlcSnapSize = 8;

[[nodiscard]] std::array<std::byte, kLlcSnapSize> llc_snap(std::uint16_t ether_type);

struct LlcPacket {
  std::uint16_t ether_type = 0;
  Bytes packet;
};
// Nothing: it is encapsulated in another way.
[[nodiscard]] std::optional<LlcPacket> read_llc_snap(Bytes payload);

}  // namespace weft::wan::atm
