// SPDX-License-Identifier: Apache-2.0
#include "wan/line/equipment/forwarding.h"

#include <cstring>

#include "wan/encapsulation/ethernet_layer.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

constexpr std::size_t kIpv6HopLimitAt = 7;
constexpr std::size_t kIpv4TimeToLiveAt = 8;
constexpr std::size_t kIpv4ChecksumAt = 10;

PortSet only(std::size_t port) {
  PortSet set{};
  set[port] = true;
  return set;
}

std::size_t other_line(std::size_t from) {
  return from == 0 ? 1 : 0;
}

MacAddress bridged_mac(const std::byte* at) {
  MacAddress mac;
  std::memcpy(mac.data(), at, mac.size());
  return mac;
}

bool is_group(const MacAddress& mac) {
  return (mac[0] & 1) != 0;
}

// False: it may go no further.
bool take_hop(std::byte* limit) {
  const std::uint8_t left = wire::load_u8(limit);
  if (left <= 1) return false;
  wire::store_u8(limit, static_cast<std::uint8_t>(left - 1));
  return true;
}

}  // namespace

PortSet PlainForwarding::to(std::size_t from, MutableBytes) {
  return only(other_line(from));
}

PortSet BridgeForwarding::to(std::size_t from, MutableBytes packet) {
  if (packet.size() < EthernetLayer::kHeader) return none(ForwardingCounter::kMalformed);
  const MacAddress destination = bridged_mac(packet.data());
  const MacAddress source = bridged_mac(packet.data() + destination.size());
  const auto known = seen_.find(source);
  if (known != seen_.end()) {
    known->second = from;
  } else if (!is_group(source) && seen_.size() < kMostAddresses) {
    seen_[source] = from;
  }
  const auto at = is_group(destination) ? seen_.end() : seen_.find(destination);
  if (at != seen_.end()) {
    return at->second == from ? none(ForwardingCounter::kNowhere) : only(at->second);
  }
  PortSet all;
  all.fill(true);
  all[from] = false;
  return all;
}

PortSet RouterForwarding::to(std::size_t from, MutableBytes packet) {
  if (packet.empty()) return none(ForwardingCounter::kMalformed);
  std::byte* const at = packet.data();
  Gid destination;
  switch (wire::load_u8(at) >> 4) {
    case wire::Grh::kIpVersion: {
      const auto header = wire::Grh::parse(packet);
      if (!header || wire::Grh::kSize + header->payload_length > packet.size()) {
        return none(ForwardingCounter::kMalformed);
      }
      destination = header->dgid;
      if (host_ && destination == host_->address) return only(kHostPort);
      if (!take_hop(at + kIpv6HopLimitAt)) return none(ForwardingCounter::kHopLimit);
      break;
    }
    case 4: {
      const std::size_t size = (wire::load_u8(at) & 15U) * 4;
      if (size < wire::kIpv4HeaderSize || size > packet.size() ||
          wire::internet_checksum(packet.first(size)) != 0) {
        return none(ForwardingCounter::kMalformed);
      }
      if (!take_hop(at + kIpv4TimeToLiveAt)) return none(ForwardingCounter::kHopLimit);
      wire::store_be16(at + kIpv4ChecksumAt, 0);
      wire::store_be16(at + kIpv4ChecksumAt, wire::internet_checksum(packet.first(size)));
      break;
    }
    default:
      return none(ForwardingCounter::kMalformed);
  }
  return only(from == kHostPort ? host_->line : other_line(from));
}

}  // namespace weft::wan
