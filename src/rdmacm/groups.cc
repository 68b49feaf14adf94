// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/groups.h"

#include <algorithm>
#include <array>

#include "wire/endian.h"

namespace weft::rdmacm {
namespace {

// RFC 4391: 0xFF, flags and scope, signature, P_Key, and the group's own bits.
constexpr std::uint16_t kPermanentLinkLocal = 0xFF12;
constexpr std::uint16_t kIpv4Signature = 0x401B;
constexpr std::uint16_t kIpv6Signature = 0x601B;
// What Linux' rdma_cm has in the signature's second byte for port space UDP, so that its groups are
// not those of the IP network.
constexpr std::byte kRdmaCmSignature{0x01};
constexpr std::uint32_t kIpv4GroupBits = 0x0FFF'FFFF;
constexpr std::size_t kIpv6GroupFrom = 6;  // its last ten bytes

}  // namespace

Gid mgid_of(const Address& group, wire::PortSpace space, PKey pkey) {
  if (group.family == Family::kIb) return group.address;
  std::array<std::byte, 16> raw{};
  const bool ipv4 = group.family == Family::kIpv4;
  wire::store_be16(raw.data(), kPermanentLinkLocal);
  wire::store_be16(raw.data() + 2, ipv4 ? kIpv4Signature : kIpv6Signature);
  if (space == wire::PortSpace::kUdp) raw[3] = kRdmaCmSignature;
  wire::store_be16(raw.data() + 4, pkey.value());
  if (ipv4) {
    wire::store_be32(raw.data() + 12, group.address.ipv4() & kIpv4GroupBits);
  } else {
    const auto& bytes = group.address.bytes();
    std::transform(bytes.begin() + kIpv6GroupFrom, bytes.end(), raw.begin() + kIpv6GroupFrom,
                   [](std::uint8_t byte) { return std::byte{byte}; });
  }
  return Gid(std::bit_cast<std::array<std::uint8_t, 16>>(raw));
}

}  // namespace weft::rdmacm
