// SPDX-License-Identifier: Apache-2.0
#include "lan/ethernet_frame.h"

#include <cstring>

#include "lan/lan_header.h"
#include "wire/endian.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"

namespace weft::lan {
namespace {

constexpr std::uint16_t kCustomerTag = 0x8100;  // IEEE 802.1Q, 9.6
constexpr std::uint16_t kServiceTag = 0x88A8;
constexpr std::uint8_t kSolicitation = 135;  // RFC 4861, 4.3 and 4.4
constexpr std::uint8_t kAdvertisement = 136;

MacAddress mac_at(const std::byte* at) {
  MacAddress mac;
  std::memcpy(mac.data(), at, mac.size());
  return mac;
}

}  // namespace

std::optional<EthernetFrame> EthernetFrame::read(Bytes frame) {
  if (frame.size() < kEthernetHeader) return std::nullopt;
  EthernetFrame out{.destination = mac_at(frame.data()), .source = mac_at(frame.data() + 6)};
  std::size_t at = kEthernetHeader;
  out.type = wire::load_be16(frame.data() + at - 2);
  while ((out.type == kCustomerTag || out.type == kServiceTag) && out.tags < kMostVlanTags) {
    at += kVlanTag;
    if (frame.size() < at) return std::nullopt;
    ++out.tags;
    out.type = wire::load_be16(frame.data() + at - 2);
  }
  out.payload = frame.subspan(at);
  return out;
}

bool EthernetFrame::is_resolution() const {
  if (type == kArp) return true;
  if (type != kIpv6 || payload.size() <= wire::kIpv6HeaderSize) return false;
  if (wire::load_u8(payload.data() + 6) != wire::ip_protocol::kIcmpv6) return false;
  const std::uint8_t message = wire::load_u8(payload.data() + wire::kIpv6HeaderSize);
  return message == kSolicitation || message == kAdvertisement;
}

}  // namespace weft::lan
