// SPDX-License-Identifier: Apache-2.0
#include "wan/neighbour/neighbour_message.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "wan/encapsulation/ethernet_layer.h"
#include "wan/encapsulation/internet_checksum.h"
#include "wan/encapsulation/ipv4_layer.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"

namespace weft::wan {
namespace {

namespace ip_protocol = wire::ip_protocol;

constexpr std::size_t kMac = std::tuple_size_v<MacAddress>;
constexpr MacAddress kEverybody{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

// RFC 826: hardware type and length, protocol type and length, operation; then the sender's two
// addresses and the target's.
constexpr std::uint16_t kArpEtherType = 0x0806;
constexpr std::size_t kArpSize = 28;
constexpr std::array<std::byte, 6> kArpOfEthernet{std::byte{0}, std::byte{1}, std::byte{8},
                                                  std::byte{0}, std::byte{6}, std::byte{4}};
constexpr std::uint16_t kArpRequest = 1;
constexpr std::uint16_t kArpReply = 2;

// RFC 4861, 4.3 and 4.4: type, code, checksum, flags; then the target, and options.
constexpr std::uint8_t kSolicitationType = 135;
constexpr std::uint8_t kAdvertisementType = 136;
constexpr std::size_t kDiscoverySize = 24;
constexpr std::size_t kOptionUnit = 8;
constexpr std::uint8_t kSourceOption = 1;
constexpr std::uint8_t kTargetOption = 2;
constexpr std::uint8_t kNotForwarded = 255;  // the hop limit of what no router has touched
constexpr std::uint32_t kSolicitedFlag = 0x4000'0000;
constexpr std::uint32_t kOverrideFlag = 0x2000'0000;

MacAddress load_mac(const std::byte* from) {
  MacAddress mac;
  std::memcpy(mac.data(), from, mac.size());
  return mac;
}

void store_mac(std::byte* to, const MacAddress& mac) {
  std::memcpy(to, mac.data(), mac.size());
}

bool is_station(const MacAddress& mac) {
  return (mac[0] & 1) == 0 && mac != MacAddress{};
}

bool is_station(const Gid& address) {
  if (!address.is_ipv4_mapped()) return !address.is_multicast();
  return address.ipv4() >> 28 != 0xE && address.ipv4() != 0xFFFF'FFFF;
}

Gid load_ipv4(const std::byte* from) {
  const std::uint32_t address = wire::load_be32(from);
  return address == 0 ? Gid{} : Gid::from_ipv4(address);
}

tl::unexpected<NotNeighbour> malformed() {
  return tl::unexpected(NotNeighbour::kMalformed);
}

tl::expected<NeighbourMessage, NotNeighbour> read_arp(Bytes packet) {
  if (packet.size() < kArpSize) return malformed();
  if (!std::equal(kArpOfEthernet.begin(), kArpOfEthernet.end(), packet.begin())) return malformed();
  const std::byte* const at = packet.data();
  const std::uint16_t operation = wire::load_be16(at + 6);
  NeighbourMessage message;
  message.mac = load_mac(at + 8);
  message.sender = load_ipv4(at + 14);
  message.target = load_ipv4(at + 24);
  if (!is_station(message.mac) || !is_station(message.sender) || !is_station(message.target)) {
    return malformed();
  }
  if (operation != kArpRequest && operation != kArpReply) return malformed();
  // What answers one who has no address yet is for nobody's; nobody's is not asked for.
  if (operation == kArpRequest && message.target.is_zero()) return malformed();
  // Who asks for himself tells everybody where he is (RFC 5227, 3).
  const bool announces = message.sender == message.target;
  if (operation == kArpRequest && !announces) return message;
  if (message.sender.is_zero()) return malformed();
  message.kind = NeighbourMessage::Kind::kAdvertisement;
  message.target = message.sender;
  message.solicited = operation == kArpReply && !announces;
  message.overrides = true;
  return message;
}

// The option of this kind; nothing: options are malformed. All zeros: there is none.
std::optional<MacAddress> read_options(ByteCursor area, std::uint8_t kind) {
  MacAddress found{};
  while (area.remaining() != 0) {
    if (area.remaining() < kOptionUnit) return std::nullopt;
    const std::byte* const at = area.rest().data();
    const std::size_t size = wire::load_u8(at + 1) * kOptionUnit;
    if (size == 0 || !area.take(size)) return std::nullopt;
    if (wire::load_u8(at) != kind || found != MacAddress{}) continue;
    found = load_mac(at + 2);
    if (!is_station(found)) return std::nullopt;
  }
  return found;
}

std::uint16_t discovery_checksum(const Gid& source, const Gid& destination, Bytes message) {
  std::array<std::byte, 32> addresses;
  wire::store_gid(addresses.data(), source);
  wire::store_gid(addresses.data() + 16, destination);
  InternetChecksum sum;
  sum.add(addresses);
  sum.add16(static_cast<std::uint16_t>(message.size()));
  sum.add16(ip_protocol::kIcmpv6);
  sum.add(message);
  return sum.value();
}

bool read_solicitation(NeighbourMessage& message, Bytes options, const Gid& destination) {
  const auto mac = read_options(ByteCursor(options), kSourceOption);
  if (!mac) return false;
  message.mac = *mac;
  if (!message.sender.is_zero()) return true;
  // Somebody asks whether an address is taken: he says none of his own.
  return message.mac == MacAddress{} && destination == solicited_node_group(message.target);
}

bool read_advertisement(NeighbourMessage& message, Bytes options, std::uint32_t flags,
                        const Gid& destination) {
  const auto mac = read_options(ByteCursor(options), kTargetOption);
  if (!mac || message.sender.is_zero()) return false;
  message.kind = NeighbourMessage::Kind::kAdvertisement;
  message.mac = *mac;
  message.solicited = (flags & kSolicitedFlag) != 0;
  message.overrides = (flags & kOverrideFlag) != 0;
  return !(destination.is_multicast() && message.solicited);
}

tl::expected<NeighbourMessage, NotNeighbour> read_discovery(Bytes packet) {
  const std::byte* const header = packet.data();
  const std::size_t length = wire::load_be16(header + 4);
  const Bytes rest = packet.subspan(wire::kIpv6HeaderSize);
  if (length > rest.size()) return malformed();
  const Bytes body = rest.first(length);
  if (body.size() < kDiscoverySize || wire::load_u8(header + 7) != kNotForwarded ||
      wire::load_u8(body.data() + 1) != 0) {
    return malformed();
  }
  const Gid destination = wire::load_gid(header + 24);
  NeighbourMessage message;
  message.sender = wire::load_gid(header + 8);
  message.target = wire::load_gid(body.data() + 8);
  // What stands for IPv4 addresses here is on no wire.
  const bool mapped = message.sender.is_ipv4_mapped() || message.target.is_ipv4_mapped();
  if (mapped || !is_station(message.sender) || !is_station(message.target) ||
      message.target.is_zero() || discovery_checksum(message.sender, destination, body) != 0) {
    return malformed();
  }
  const Bytes options = body.subspan(kDiscoverySize);
  const bool read =
      wire::load_u8(body.data()) == kSolicitationType
          ? read_solicitation(message, options, destination)
          : read_advertisement(message, options, wire::load_be32(body.data() + 4), destination);
  if (!read) return malformed();
  return message;
}

bool is_discovery(Bytes packet) {
  if (packet.size() <= wire::kIpv6HeaderSize || wire::load_u8(packet.data()) >> 4 != 6)
    return false;
  const std::uint8_t type = wire::load_u8(packet.data() + wire::kIpv6HeaderSize);
  return wire::load_u8(packet.data() + 6) == ip_protocol::kIcmpv6 &&
         (type == kSolicitationType || type == kAdvertisementType);
}

}  // namespace

tl::expected<NeighbourMessage, NotNeighbour> read_neighbour_message(Bytes frame) {
  if (frame.size() < EthernetLayer::kHeader) return tl::unexpected(NotNeighbour::kOther);
  const std::uint16_t type = wire::load_be16(frame.data() + 12);
  const Bytes packet = frame.subspan(EthernetLayer::kHeader);
  if (type == kArpEtherType) return read_arp(packet);
  if (type == Ipv6Layer::kEtherType && is_discovery(packet)) return read_discovery(packet);
  return tl::unexpected(NotNeighbour::kOther);
}

Gid solicited_node_group(const Gid& address) {
  std::array<std::uint8_t, 16> bytes{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF};
  std::copy(address.bytes().begin() + 13, address.bytes().end(), bytes.begin() + 13);
  return Gid{bytes};
}

MacAddress ethernet_of_group(const Gid& group) {
  const auto& bytes = group.bytes();
  return {0x33, 0x33, bytes[12], bytes[13], bytes[14], bytes[15]};
}

NeighbourFrame::NeighbourFrame(const NeighbourMessage& message, const MacAddress& from,
                               const MacAddress& to, const Gid& to_address) {
  if (message.target.is_ipv4_mapped()) {
    write_arp(message, from, to, to_address);
  } else {
    write_discovery(message, from, to, to_address);
  }
}

void NeighbourFrame::write_ethernet(const MacAddress& from, const MacAddress& to,
                                    std::uint16_t type) {
  store_mac(bytes_.data(), to);
  store_mac(bytes_.data() + kMac, from);
  wire::store_be16(bytes_.data() + 2 * kMac, type);
}

void NeighbourFrame::write_arp(const NeighbourMessage& message, const MacAddress& from,
                               const MacAddress& to, const Gid& to_address) {
  const bool asks = message.kind == NeighbourMessage::Kind::kSolicitation;
  write_ethernet(from, to == MacAddress{} ? kEverybody : to, kArpEtherType);
  std::byte* const at = bytes_.data() + EthernetLayer::kHeader;
  std::copy(kArpOfEthernet.begin(), kArpOfEthernet.end(), at);
  wire::store_be16(at + 6, asks ? kArpRequest : kArpReply);
  store_mac(at + 8, message.mac);
  wire::store_be32(at + 14, message.sender.is_zero() ? 0 : message.sender.ipv4());
  // Of an answer, who has asked; who tells all names himself.
  if (!asks) store_mac(at + 18, to);
  const Gid& told = to == MacAddress{} ? message.sender : to_address;
  const Gid& target = asks ? message.target : told;
  wire::store_be32(at + 24, target.is_zero() ? 0 : target.ipv4());
  size_ = EthernetLayer::kHeader + kArpSize;
}

void NeighbourFrame::write_discovery(const NeighbourMessage& message, const MacAddress& from,
                                     const MacAddress& to, const Gid& to_address) {
  const bool asks = message.kind == NeighbourMessage::Kind::kSolicitation;
  constexpr Gid kAllNodes{{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  Gid destination = to_address;
  if (to == MacAddress{}) destination = asks ? solicited_node_group(message.target) : kAllNodes;
  write_ethernet(from, to == MacAddress{} ? ethernet_of_group(destination) : to,
                 Ipv6Layer::kEtherType);
  std::byte* const header = bytes_.data() + EthernetLayer::kHeader;
  const std::size_t length = kDiscoverySize + kOptionUnit;
  wire::store_u8(header, 0x60);
  wire::store_be16(header + 4, static_cast<std::uint16_t>(length));
  wire::store_u8(header + 6, ip_protocol::kIcmpv6);
  wire::store_u8(header + 7, kNotForwarded);
  wire::store_gid(header + 8, message.sender);
  wire::store_gid(header + 24, destination);
  std::byte* const body = header + wire::kIpv6HeaderSize;
  wire::store_u8(body, asks ? kSolicitationType : kAdvertisementType);
  const std::uint32_t flags =
      (message.solicited ? kSolicitedFlag : 0) | (message.overrides ? kOverrideFlag : 0);
  wire::store_be32(body + 4, flags);
  wire::store_gid(body + 8, message.target);
  wire::store_u8(body + kDiscoverySize, asks ? kSourceOption : kTargetOption);
  wire::store_u8(body + kDiscoverySize + 1, 1);
  store_mac(body + kDiscoverySize + 2, message.mac);
  wire::store_be16(body + 2, discovery_checksum(message.sender, destination, Bytes(body, length)));
  size_ = EthernetLayer::kHeader + wire::kIpv6HeaderSize + length;
}

}  // namespace weft::wan
