// SPDX-License-Identifier: Apache-2.0
#include "service/flow_key.h"

#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/lrh.h"
#include "wire/opcode.h"
#include "wire/packet.h"

namespace weft::service {
namespace {

using wire::load_be16;
using wire::load_be32;
using wire::load_le64;
using wire::load_u8;

// Transports whose packets are all that there is to know of a flow.
bool is_kept(const wire::OpcodeInfo& opcode) {
  using wire::Transport;
  return opcode.known() &&
         (opcode.transport == Transport::rc || opcode.transport == Transport::uc ||
          opcode.transport == Transport::ud || opcode.transport == Transport::xrc);
}

bool take_gids(Bytes packet, FlowKey& out) {
  const std::byte* const grh = packet.data() + wire::Lrh::kSize;
  const std::size_t inside = packet.size() - wire::kVcrcSize - wire::Lrh::kSize - wire::Grh::kSize;
  if (load_u8(grh) >> 4 != wire::Grh::kIpVersion || load_u8(grh + 6) != wire::Grh::kNextHeaderIba ||
      load_be16(grh + 4) != inside) {
    return false;
  }
  for (std::size_t i = 0; i < 4; ++i)
    out.words[2 + i] = load_le64(grh + 8 + 8 * i);
  return true;
}

// ARP and IPv6 that may be neighbour discovery, in datagrams of IPoIB (RFC 4391, 6 and 9): other
// packets of the same flow say nothing of the queue pairs that these tell.
bool may_tell_addresses(Bytes payload) {
  constexpr std::size_t kEncapsulation = 4;
  constexpr std::size_t kNext = kEncapsulation + 6;
  if (payload.size() <= kNext) return false;
  const std::uint16_t type = load_be16(payload.data());
  if (type == 0x0806 || type == 0x8035) return true;  // ARP, RARP
  if (type != 0x86DD) return false;
  switch (load_u8(payload.data() + kNext)) {
    case 0:  // extension headers
    case 43:
    case 44:
    case 51:
    case 60:
    case 58:  // ICMPv6
      return true;
    default:
      return false;
  }
}

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

bool FlowKey::read(Bytes packet, std::uint8_t port, FlowKey& out) {
  constexpr std::size_t kLeast = wire::Lrh::kSize + wire::Bth::kSize + wire::kIcrcSize;
  if (packet.size() < kLeast + wire::kVcrcSize) return false;
  const std::byte* const at = packet.data();
  const std::uint64_t lrh = load_le64(at);
  const auto next = static_cast<wire::Lnh>(load_u8(at + 1) & 3);
  const std::size_t words = load_be16(at + 4) & 0x7FF;
  const std::size_t covered = packet.size() - wire::kVcrcSize;
  if ((load_u8(at) & 0xF) != 0 || words * 4 != covered) return false;
  const bool global = next == wire::Lnh::iba_global;
  if (!global && next != wire::Lnh::iba_local) return false;
  std::size_t transport = wire::Lrh::kSize;
  if (global) {
    transport += wire::Grh::kSize;
    if (covered < kLeast + wire::Grh::kSize || !take_gids(packet, out)) return false;
  } else {
    for (std::size_t i = 0; i < 4; ++i)
      out.words[2 + i] = 0;
  }

  const std::byte* const bth = at + transport;
  const wire::OpcodeInfo& opcode = wire::info(static_cast<wire::Opcode>(load_u8(bth)));
  if (!is_kept(opcode) || (load_u8(bth + 1) & 0xF) != 0) return false;
  const std::size_t headers = transport + wire::Bth::kSize + opcode.headers_size + wire::kIcrcSize;
  if (covered < headers) return false;
  const std::size_t padded = covered - headers;
  const std::size_t pad = load_u8(bth + 1) >> 4 & 3;
  if (pad > padded || (padded != 0 && !opcode.has_payload)) return false;
  const std::uint32_t dest_qp = load_be32(bth + 4) & 0xFF'FFFF;
  if (dest_qp <= kQp1.value()) return false;

  // Without the VL, which is the link's, and the length.
  constexpr std::uint64_t kRoute = 0xFFFF'0000'FFFF'FF00;
  out.words[0] = (lrh & kRoute) | std::uint64_t{port} << 32;
  out.words[1] =
      std::uint64_t{load_u8(bth)} << 56 | std::uint64_t{load_be16(bth + 2)} << 32 | dest_qp;
  out.words[6] = 0;
  if (opcode.transport == wire::Transport::ud) {
    const std::byte* const deth = bth + wire::Bth::kSize;
    if (load_be32(deth) == kGsiQKey.value()) return false;
    const std::size_t payload = transport + wire::Bth::kSize + opcode.headers_size;
    if (may_tell_addresses(packet.subspan(payload, padded - pad))) return false;
    out.words[6] = std::uint64_t{load_be32(deth)} << 32 | wire::load_be24(deth + 5);
  }
  return true;
}

std::uint64_t FlowKey::hash(const std::array<std::uint64_t, kWords + 1>& secret) const {
  const std::uint64_t a = fold(words[0] ^ secret[0], words[1] ^ secret[1]);
  const std::uint64_t b = fold(words[2] ^ secret[2], words[3] ^ secret[3]);
  const std::uint64_t c = fold(words[4] ^ secret[4], words[5] ^ secret[5]);
  return fold(a ^ b ^ words[6] ^ secret[6], c ^ b ^ secret[7]);
}

}  // namespace weft::service
