// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "base/bytes.h"
#include "service/fields.h"

namespace weft::service::firewall {

// The longest: LRH, GRH, BTH, DETH, a MAD, ICRC and VCRC.
inline constexpr std::size_t kMostRefusal = 8 + 40 + 12 + 8 + 256 + 4 + 2;

// What tells whoever sent a REQ or SIDR_REQ that there will be no connection, on the way back that
// it came: a REJ (IBA 12.6.7) of reason "consumer reject", a SIDR_REP (12.11.1.4) of status
// "rejected". Of other packets nothing. `out` has room for kMostRefusal bytes; the part of it that
// is the packet, LRH through VCRC, with both CRCs.
[[nodiscard]] std::optional<Bytes> refusal_of(const Fields& fields, MutableBytes out);

}  // namespace weft::service::firewall
