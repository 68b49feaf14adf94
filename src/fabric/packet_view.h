// SPDX-License-Identifier: Apache-2.0
// What switches and adapters look at in a packet.
#pragma once

#include <optional>

#include "link/packet.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/grh.h"
#include "wire/lrh.h"
#include "wire/sm/tables.h"

namespace weft::fabric {

// IBA 4.1.3: 0xC000 to 0xFFFE.
[[nodiscard]] constexpr bool is_multicast(Lid lid) {
  return lid.value() >= wire::MulticastBlock::kFirstLid && lid.value() != 0xFFFF;
}

[[nodiscard]] inline bool is_raw(const wire::Lrh& lrh) {
  return lrh.next_header == wire::Lnh::raw || lrh.next_header == wire::Lnh::raw_ipv6;
}

// The BTH; nothing for raw packets and for those too short to have one.
[[nodiscard]] inline std::optional<wire::Bth> bth_of(const link::Packet& packet,
                                                     const wire::Lrh& lrh) {
  if (is_raw(lrh)) return std::nullopt;
  const std::size_t before =
      wire::Lrh::kSize + (lrh.next_header == wire::Lnh::iba_global ? wire::Grh::kSize : 0);
  const Bytes header = packet.header();
  if (header.size() < before) return std::nullopt;
  return wire::Bth::parse(header.subspan(before));
}

}  // namespace weft::fabric
