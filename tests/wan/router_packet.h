// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"

namespace weft::wan {

struct GlobalSpec {
  Gid sgid{};
  Gid dgid{};
  std::uint8_t hops = 8;
  Qpn dest_qp{7};
  PKey pkey = kDefaultPKey;
  std::uint32_t number = 0;
  std::size_t payload = 64;  // a multiple of 4
  wire::Lnh next_header = wire::Lnh::iba_global;
  std::uint8_t ip_version = wire::Grh::kIpVersion;
  std::uint8_t after_grh = wire::Grh::kNextHeaderIba;
  int wrong_length = 0;  // more than GRH.PayLen should say
};

// A UC SEND with a GRH, sealed.
inline std::vector<std::byte> make_global_packet(const GlobalSpec& spec) {
  const std::size_t transport = wire::Bth::kSize + spec.payload + wire::kIcrcSize;
  std::vector<std::byte> bytes(wire::Lrh::kSize + wire::Grh::kSize + transport + wire::kVcrcSize);
  wire::Lrh{.next_header = spec.next_header,
            .dlid = Lid{4},
            .packet_words = static_cast<std::uint16_t>((bytes.size() - wire::kVcrcSize) / 4),
            .slid = Lid{5}}
      .write(bytes);
  wire::Grh{
      .ip_version = spec.ip_version,
      .payload_length = static_cast<std::uint16_t>(static_cast<int>(transport) + spec.wrong_length),
      .next_header = spec.after_grh,
      .hop_limit = spec.hops,
      .sgid = spec.sgid,
      .dgid = spec.dgid}
      .write(MutableBytes(bytes).subspan(wire::Lrh::kSize));
  wire::Bth{.opcode = wire::Opcode::uc_send_only,
            .pkey = spec.pkey,
            .dest_qp = spec.dest_qp,
            .psn = Psn{spec.number}}
      .write(MutableBytes(bytes).subspan(wire::Lrh::kSize + wire::Grh::kSize));
  wire::seal_link_packet(bytes);
  return bytes;
}

}  // namespace weft::wan
