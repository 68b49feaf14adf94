// SPDX-License-Identifier: Apache-2.0
// ICRC and VCRC of packets on an InfiniBand link (IBA 7.8): what each covers, and which fields
// count as ones because a hop may change them.
//
//   ICRC  LRH through the last pad byte, with ones for
//           local packets:   LRH.VL and BTH byte 4 (FECN, BECN, reserved)
//           global packets:  the whole LRH; GRH.TClass, FlowLabel, HopLmt; BTH byte 4
//         raw packets have none
//   VCRC  LRH through the ICRC, as sent
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::wire {

struct LinkCrcCheck {
  bool icrc_good = false;  // true for a raw packet, which has none
  bool vcrc_good = false;
  [[nodiscard]] bool good() const { return icrc_good && vcrc_good; }
};

// `packet` is LRH through VCRC and has passed walk_link_packet.
[[nodiscard]] LinkCrcCheck check_link_crcs(Bytes packet);

// Fills in the ICRC (unless raw) and the VCRC of a packet otherwise complete; same condition.
void seal_link_packet(MutableBytes packet);

// The ICRC alone. `packet` is LRH through the last pad byte of an IBA packet.
[[nodiscard]] std::uint32_t link_icrc(Bytes packet);

// Of a packet that lies in several places: the ICRC's register after `front`, from the LRH through
// at least the BTH of an IBA packet. What follows goes in by crc32_update as it is.
[[nodiscard]] std::uint32_t link_icrc_front(Bytes front);
// How many bytes `front` must have at least, by the LRH at its beginning.
[[nodiscard]] std::size_t link_headers_size(Bytes lrh);

// For a hop that has changed the LRH in place: brings the VCRC up to date from the LRH before
// (load_le64 of its 8 bytes), without reading the payload. A packet that was corrupt stays so.
void update_vcrc(MutableBytes packet, std::uint64_t lrh_before);

// For a hop that changes nothing but the virtual lane: writes it and the VCRC that goes with it.
void rewrite_vl(MutableBytes packet, Vl vl);
// What another virtual lane does to the VCRC (XOR it in) of a packet of `covered` bytes, LRH
// through ICRC: a multiple of 4.
[[nodiscard]] std::uint16_t vl_change(Vl before, Vl after, std::size_t covered);

}  // namespace weft::wire
