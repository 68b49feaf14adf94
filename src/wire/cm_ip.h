// SPDX-License-Identifier: Apache-2.0
// How IP addresses and ports travel in the messages of the communication manager, IBA annex A11:
// the port of the destination in the service ID, the rest in the first 36 bytes of the private data
// of a REQ or SIDR_REQ.
//
//   byte 0  MajorVersion(4) MinorVersion(4)  1  IPVersion(4) rsv(4)  2-3  SourcePort
//        4-19  SourceAddress  20-35  DestinationAddress (an IPv4 address in its last four bytes)
#pragma once

#include <optional>

#include "base/ids.h"
#include "wire/cm_field.h"

namespace weft::wire {

// IBA A11.6, bytes 4 and 5 of the service ID, as rdma_cm numbers its port spaces.
enum class PortSpace : std::uint16_t {
  kIpoib = 0x0002,
  kTcp = 0x0106,
  kUdp = 0x0111,
  kIb = 0x013F,
};

// Service ID of a port: 0x0000000001pp'nnnn.
[[nodiscard]] constexpr ServiceId ip_service_id(PortSpace space, std::uint16_t port) {
  return ServiceId{std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | port};
}

struct CmIpHeader {
  static constexpr std::size_t kSize = 36;

  std::uint8_t major_version = 0;  // 4 bits
  std::uint8_t minor_version = 0;  // 4 bits
  std::uint8_t ip_version = 4;     // 4 bits: 4 or 6
  std::uint16_t source_port = 0;
  Gid source{};  // an IPv4 address has twelve zeros before it here, not the ::ffff: of a GID
  Gid destination{};

  friend bool operator==(const CmIpHeader&, const CmIpHeader&) = default;

  // For addresses as GIDs have them, ::ffff:a.b.c.d being IPv4 when both are.
  [[nodiscard]] static CmIpHeader between(const Gid& source, std::uint16_t source_port,
                                          const Gid& destination);
  // The addresses as GIDs have them.
  [[nodiscard]] Gid source_gid() const { return as_gid(source); }
  [[nodiscard]] Gid destination_gid() const { return as_gid(destination); }

  // Nothing when the bytes are too few, or of another major version, or neither IPv4 nor IPv6.
  [[nodiscard]] static std::optional<CmIpHeader> parse(Bytes bytes);
  void write(MutableBytes out) const;

 private:
  [[nodiscard]] Gid as_gid(const Gid& address) const {
    return ip_version == 4 ? Gid::from_ipv4(address.ipv4()) : address;
  }
};

}  // namespace weft::wire
