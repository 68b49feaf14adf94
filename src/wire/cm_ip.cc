// SPDX-License-Identifier: Apache-2.0
#include "wire/cm_ip.h"

#include <algorithm>

#include "wire/grh.h"

namespace weft::wire {
namespace {

Gid bare_ipv4(const Gid& mapped) {
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(mapped.bytes().end() - 4, 4, bytes.end() - 4);
  return Gid{bytes};
}

}  // namespace

CmIpHeader CmIpHeader::between(const Gid& source, std::uint16_t source_port,
                               const Gid& destination) {
  const bool ipv4 = source.is_ipv4_mapped() && destination.is_ipv4_mapped();
  return {.ip_version = static_cast<std::uint8_t>(ipv4 ? 4 : 6),
          .source_port = source_port,
          .source = ipv4 ? bare_ipv4(source) : source,
          .destination = ipv4 ? bare_ipv4(destination) : destination};
}

std::optional<CmIpHeader> CmIpHeader::parse(Bytes bytes) {
  if (bytes.size() < kSize) return std::nullopt;
  const std::byte* at = bytes.data();
  const CmIpHeader header{.major_version = detail::bits<4, 4>(load_u8(at)),
                          .minor_version = detail::bits<0, 4>(load_u8(at)),
                          .ip_version = detail::bits<4, 4>(load_u8(at + 1)),
                          .source_port = load_be16(at + 2),
                          .source = load_gid(at + 4),
                          .destination = load_gid(at + 20)};
  if (header.major_version != 0) return std::nullopt;
  if (header.ip_version != 4 && header.ip_version != 6) return std::nullopt;
  return header;
}

void CmIpHeader::write(MutableBytes out) const {
  assert(out.size() >= kSize);
  std::byte* at = out.data();
  store_u8(at, static_cast<std::uint8_t>(detail::placed<4, 4>(major_version) |
                                         detail::placed<0, 4>(minor_version)));
  store_u8(at + 1, detail::placed<4, 4>(ip_version));
  store_be16(at + 2, source_port);
  store_gid(at + 4, source);
  store_gid(at + 20, destination);
}

}  // namespace weft::wire
