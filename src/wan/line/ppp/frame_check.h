// SPDX-License-Identifier: Apache-2.0
// The two FCS of PPP (RFC 1662, appendix C): both least significant bit first, preset to ones,
// sent as their complement, low octet first. FCS-32 is the CRC-32 of wire/crc.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wan/line/ppp/ppp_frame.h"

namespace weft::wan {

inline constexpr std::uint32_t kPppResidue16 = 0xF0B8;
inline constexpr std::uint32_t kPppResidue32 = 0xDEBB'20E3;

[[nodiscard]] constexpr std::uint32_t ppp_fcs_preset(PppFcs fcs) {
  return fcs == PppFcs::k32 ? 0xFFFF'FFFF : 0xFFFF;
}
// The register after `bytes`; after those of a whole frame with its FCS it is the residue.
[[nodiscard]] std::uint32_t ppp_fcs_update(PppFcs fcs, std::uint32_t state, Bytes bytes);
[[nodiscard]] constexpr std::uint32_t ppp_fcs_residue(PppFcs fcs) {
  return fcs == PppFcs::k32 ? kPppResidue32 : kPppResidue16;
}
[[nodiscard]] constexpr std::size_t ppp_fcs_size(PppFcs fcs) {
  return static_cast<std::size_t>(fcs);
}

}  // namespace weft::wan
