// SPDX-License-Identifier: Apache-2.0
// The packet that the benchmarks of the range extender carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/bth.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::bench {

// With its CRCs; `payload`: bytes, a multiple of 4.
inline std::vector<std::byte> make_wan_packet(std::size_t payload, Vl vl = Vl{0}) {
  const std::size_t covered = wire::Lrh::kSize + wire::Bth::kSize + payload + wire::kIcrcSize;
  std::vector<std::byte> bytes(covered + wire::kVcrcSize);
  wire::Lrh{.vl = vl,
            .dlid = Lid{2},
            .packet_words = static_cast<std::uint16_t>(covered / 4),
            .slid = Lid{1}}
      .write(bytes);
  wire::Bth{.opcode = wire::Opcode::uc_send_only, .dest_qp = Qpn{7}, .psn = Psn{}}.write(
      MutableBytes(bytes).subspan(wire::Lrh::kSize));
  wire::seal_link_packet(bytes);
  return bytes;
}

}  // namespace weft::bench
