// SPDX-License-Identifier: Apache-2.0
#include "lan/group_query.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "lan/ethernet_frame.h"
#include "lan/lan_header.h"
#include "wire/endian.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"

namespace weft::lan {
namespace {

constexpr std::uint32_t kAllSystems = 0xE000'0001;   // 224.0.0.1
constexpr std::uint32_t kAllSnoopers = 0xE000'006A;  // 224.0.0.106
constexpr std::uint8_t kIgmpAdvertisement = 0x30;
constexpr std::uint8_t kGroupQueryIgmpQuery = 0x11;
constexpr std::uint8_t kGroupQueryMldQuery = 130;
constexpr std::uint8_t kRobustness = 2;                          // RFC 3376, 8.1
constexpr std::uint8_t kInterval = 125;                          // s, RFC 3376, 8.2
constexpr std::uint32_t kRouterAlertV4 = 0x9404'0000;            // RFC 2113
constexpr std::uint64_t kRouterAlertV6 = 0x3A00'0502'0000'0100;  // RFC 2711, before ICMPv6

void write_ethernet(std::byte* at, const MacAddress& to, const MacAddress& from,
                    std::uint16_t type) {
  std::memcpy(at, to.data(), to.size());
  std::memcpy(at + 6, from.data(), from.size());
  wire::store_be16(at + 12, type);
}

// A header of IPv4 with the option, and checksums of both, which stand where IGMP has it.
void write_ipv4(std::byte* ip, std::uint32_t to, std::size_t message) {
  constexpr std::size_t kHeader = 24;
  wire::store_u8(ip, 0x46);
  wire::store_u8(ip + 1, 0xC0);  // internetwork control
  wire::store_be16(ip + 2, static_cast<std::uint16_t>(kHeader + message));
  wire::store_u8(ip + 8, 1);  // it stays on this link
  wire::store_u8(ip + 9, wire::ip_protocol::kIgmp);
  wire::store_be32(ip + 16, to);
  wire::store_be32(ip + 20, kRouterAlertV4);
  wire::store_be16(ip + 10, wire::internet_checksum(Bytes(ip, kHeader)));
  std::byte* const igmp = ip + kHeader;
  wire::store_be16(igmp + 2, wire::internet_checksum(Bytes(igmp, message)));
}

void write_igmp(std::byte* ip, Duration response) {
  std::byte* const query = ip + 24;
  wire::store_u8(query, kGroupQueryIgmpQuery);
  wire::store_u8(query + 1, static_cast<std::uint8_t>(response / 100ms));
  wire::store_u8(query + 8, kRobustness);
  wire::store_u8(query + 9, kInterval);
  write_ipv4(ip, kAllSystems, 12);
}

// fe80::/64 and the modified EUI-64 of an Ethernet address (RFC 4291, appendix A).
void write_link_local(std::byte* at, const MacAddress& mac) {
  wire::store_be64(at, 0xFE80'0000'0000'0000);
  std::memcpy(at + 8, mac.data(), 3);
  wire::store_be16(at + 11, 0xFFFE);
  std::memcpy(at + 13, mac.data() + 3, 3);
  wire::store_u8(at + 8, static_cast<std::uint8_t>(wire::load_u8(at + 8) ^ 2));
}

void write_mld(std::byte* ip, const MacAddress& from, Duration response) {
  constexpr std::size_t kOptions = 8;
  constexpr std::size_t kQuery = 28;
  wire::store_u8(ip, 0x60);
  wire::store_be16(ip + 4, kOptions + kQuery);
  wire::store_u8(ip + 7, 1);
  write_link_local(ip + 8, from);
  wire::store_be16(ip + 24, 0xFF02);  // ff02::1
  wire::store_u8(ip + 39, 1);
  wire::store_be64(ip + wire::kIpv6HeaderSize, kRouterAlertV6);
  std::byte* const query = ip + wire::kIpv6HeaderSize + kOptions;
  wire::store_u8(query, kGroupQueryMldQuery);
  wire::store_be16(query + 4, static_cast<std::uint16_t>(response / 1ms));
  wire::store_u8(query + 24, kRobustness);
  wire::store_u8(query + 25, kInterval);
  // RFC 8200, 8.1: over the addresses, the length and the next header too.
  std::array<std::byte, 40 + kQuery> summed{};
  std::memcpy(summed.data(), ip + 8, 32);
  wire::store_be32(summed.data() + 32, kQuery);
  wire::store_u8(summed.data() + 39, wire::ip_protocol::kIcmpv6);
  std::memcpy(summed.data() + 40, query, kQuery);
  wire::store_be16(query + 2, wire::internet_checksum(summed));
}

}  // namespace

GroupQueries::GroupQueries(const MacAddress& from, Duration response) {
  assert(response >= 100ms && response <= 10s);
  write_ethernet(igmp_.data(), {0x01, 0x00, 0x5E, 0, 0, 1}, from, EthernetFrame::kIpv4);
  write_igmp(igmp_.data() + kEthernetHeader, response);
  write_ethernet(mld_.data(), {0x33, 0x33, 0, 0, 0, 1}, from, EthernetFrame::kIpv6);
  write_mld(mld_.data() + kEthernetHeader, from, response);
}

GroupAdvertisement::GroupAdvertisement(const MacAddress& from) {
  write_ethernet(igmp_.data(), {0x01, 0x00, 0x5E, 0, 0, 0x6A}, from, EthernetFrame::kIpv4);
  std::byte* const said = igmp_.data() + kEthernetHeader + 24;
  wire::store_u8(said, kIgmpAdvertisement);
  wire::store_u8(said + 1, kInterval);  // until the next one
  wire::store_be16(said + 4, kInterval);
  wire::store_be16(said + 6, kRobustness);
  write_ipv4(igmp_.data() + kEthernetHeader, kAllSnoopers, 8);
}

}  // namespace weft::lan
