// SPDX-License-Identifier: Apache-2.0
// Addresses as programs give them to rdma_cm: struct sockaddr of IPv4, IPv6 or InfiniBand, read and
// written as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/cm_ip.h"

namespace weft::rdmacm {

// The values are those of AF_INET, AF_INET6 and AF_IB on Linux.
enum class Family : std::uint16_t { kNone = 0, kIpv4 = 2, kIpv6 = 10, kIb = 27 };

struct Address {
  static constexpr std::size_t kStorage = 128;  // bytes of a sockaddr_storage

  Family family = Family::kNone;
  Gid address{};  // IPv4 as ::ffff:a.b.c.d; zero: any, of every family
  std::uint16_t port = 0;
  std::uint32_t scope_id = 0;      // interface index of a link-local address
  wire::PortSpace ib_space{};      // kIb: the port space that its service ID names
  std::uint64_t ib_sid_mask = 0;   // kIb: the bits of the service ID that count
  PKey ib_pkey{};                  // kIb
  std::uint32_t ib_flow_info = 0;  // kIb: network order, opaque
  std::uint64_t ib_scope_id = 0;   // kIb: opaque

  [[nodiscard]] bool any() const { return address.is_zero(); }
  [[nodiscard]] bool loopback() const;  // 127.0.0.0/8, ::1
  [[nodiscard]] bool is_ip() const { return family == Family::kIpv4 || family == Family::kIpv6; }

  static Address ip(const Gid& address, std::uint16_t port, std::uint32_t scope_id = 0);

  // Nothing for another family, for too few bytes, and for a service ID of AF_IB that is in no port
  // space of IP, unless the GID is a group's, which has none. A family of 0 is kNone.
  static std::optional<Address> parse(Bytes raw);

  // Fills the front of `out` (kStorage bytes), the rest with zeros; returns the length of the
  // family's structure.
  std::size_t write(MutableBytes out) const;

  friend bool operator==(const Address&, const Address&) = default;
};

// What `address` is on an InfiniBand-like port: its GID as a sockaddr of AF_IB.
Address as_ib(const Gid& gid, const Address& of, PKey pkey, wire::PortSpace space);

}  // namespace weft::rdmacm
