// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/address.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "wire/endian.h"

namespace weft::rdmacm {
namespace {

// Offsets within struct sockaddr_in, sockaddr_in6 and sockaddr_ib. The family, of two bytes in host
// order, is first in all of them.
constexpr std::size_t kPort = 2;
constexpr std::size_t kIpv4Address = 4;
constexpr std::size_t kIpv6Address = 8;
constexpr std::size_t kIpv6Scope = 24;
constexpr std::size_t kIbPKey = 2;
constexpr std::size_t kIbFlowInfo = 4;
constexpr std::size_t kIbAddress = 8;
constexpr std::size_t kIbSid = 24;
constexpr std::size_t kIbSidMask = 32;
constexpr std::size_t kIbScope = 40;

constexpr std::size_t kIpv4Size = 16;
constexpr std::size_t kIpv6Size = 28;
constexpr std::size_t kIbSize = 48;

constexpr std::uint64_t kPortBits = 0xFFFF;

template <class T>
T load_host(Bytes raw, std::size_t at) {
  T value{};
  std::memcpy(&value, raw.data() + at, sizeof value);
  return value;
}

template <class T>
void store_host(MutableBytes out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

Gid load_gid(Bytes raw, std::size_t at) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), raw.data() + at, bytes.size());
  return Gid(bytes);
}

void store_gid(MutableBytes out, std::size_t at, const Gid& gid) {
  std::memcpy(out.data() + at, gid.bytes().data(), gid.bytes().size());
}

std::optional<wire::PortSpace> space_of(std::uint64_t sid) {
  for (const auto space : {wire::PortSpace::kIpoib, wire::PortSpace::kTcp, wire::PortSpace::kUdp,
                           wire::PortSpace::kIb}) {
    if ((sid & ~kPortBits) == wire::ip_service_id(space, 0).value()) return space;
  }
  return std::nullopt;
}

std::optional<Address> parse_ib(Bytes raw) {
  const std::uint64_t mask = wire::load_be64(raw.data() + kIbSidMask);
  const std::uint64_t sid = wire::load_be64(raw.data() + kIbSid) & mask;
  const Gid address = load_gid(raw, kIbAddress);
  const auto space = space_of(sid);
  if (!space && !address.is_multicast()) return std::nullopt;
  Address out;
  out.family = Family::kIb;
  out.address = address;
  out.port = static_cast<std::uint16_t>(sid & kPortBits);
  out.ib_space = space.value_or(wire::PortSpace::kUdp);
  out.ib_sid_mask = mask;
  out.ib_pkey = PKey{wire::load_be16(raw.data() + kIbPKey)};
  out.ib_flow_info = load_host<std::uint32_t>(raw, kIbFlowInfo);
  out.ib_scope_id = load_host<std::uint64_t>(raw, kIbScope);
  return out;
}

constexpr Gid kIpv6Loopback{std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0,  //
                                                         0, 0, 0, 0, 0, 0, 0, 1}};

}  // namespace

bool Address::loopback() const {
  return address == kIpv6Loopback || (address.is_ipv4_mapped() && address.ipv4() >> 24 == 127);
}

Address Address::ip(const Gid& address, std::uint16_t port, std::uint32_t scope_id) {
  Address out;
  out.family = address.is_ipv4_mapped() ? Family::kIpv4 : Family::kIpv6;
  out.address = address;
  out.port = port;
  out.scope_id = scope_id;
  return out;
}

std::optional<Address> Address::parse(Bytes raw) {
  if (raw.size() < sizeof(std::uint16_t)) return std::nullopt;
  Address out;
  out.family = static_cast<Family>(load_host<std::uint16_t>(raw, 0));
  switch (out.family) {
    case Family::kNone:
      return out;
    case Family::kIpv4: {
      if (raw.size() < kIpv4Size) return std::nullopt;
      const std::uint32_t address = wire::load_be32(raw.data() + kIpv4Address);
      out.address = address == 0 ? Gid{} : Gid::from_ipv4(address);
      out.port = wire::load_be16(raw.data() + kPort);
      return out;
    }
    case Family::kIpv6:
      if (raw.size() < kIpv6Size) return std::nullopt;
      out.address = load_gid(raw, kIpv6Address);
      out.port = wire::load_be16(raw.data() + kPort);
      out.scope_id = load_host<std::uint32_t>(raw, kIpv6Scope);
      return out;
    case Family::kIb:
      return raw.size() < kIbSize ? std::nullopt : parse_ib(raw);
  }
  return std::nullopt;
}

std::size_t Address::write(MutableBytes out) const {
  assert(out.size() >= kStorage);
  std::fill_n(out.begin(), kStorage, std::byte{0});
  store_host(out, 0, static_cast<std::uint16_t>(family));
  switch (family) {
    case Family::kNone:
      break;
    case Family::kIpv4:
      wire::store_be16(out.data() + kPort, port);
      wire::store_be32(out.data() + kIpv4Address, any() ? 0 : address.ipv4());
      return kIpv4Size;
    case Family::kIpv6:
      wire::store_be16(out.data() + kPort, port);
      store_gid(out, kIpv6Address, address);
      store_host(out, kIpv6Scope, scope_id);
      return kIpv6Size;
    case Family::kIb:
      wire::store_be16(out.data() + kIbPKey, ib_pkey.value());
      store_host(out, kIbFlowInfo, ib_flow_info);
      store_gid(out, kIbAddress, address);
      wire::store_be64(out.data() + kIbSid, wire::ip_service_id(ib_space, port).value());
      wire::store_be64(out.data() + kIbSidMask, ib_sid_mask);
      store_host(out, kIbScope, ib_scope_id);
      return kIbSize;
  }
  return 0;
}

Address as_ib(const Gid& gid, const Address& of, PKey pkey, wire::PortSpace space) {
  Address out;
  out.family = Family::kIb;
  out.address = gid;
  out.port = of.port;
  out.ib_space = space;
  out.ib_sid_mask = ~std::uint64_t{0};
  out.ib_pkey = pkey;
  return out;
}

}  // namespace weft::rdmacm
