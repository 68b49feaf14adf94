// SPDX-License-Identifier: Apache-2.0
#include "wan/line/equipment/foreign_packets.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/random.h"
#include "wan/encapsulation/ethernet_layer.h"
#include "wan/encapsulation/internet_checksum.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

constexpr std::size_t kNumber = 8;
constexpr std::size_t kLeastFollows = 16;
constexpr std::size_t kMostFollows = 1200;
constexpr std::uint8_t kForeignUdp = 17;
constexpr std::uint16_t kDiscardPort = 9;  // RFC 863
constexpr std::uint8_t kHopLimit = 64;
constexpr std::size_t kHopLimitAt = 7;  // of a header of IPv6

}  // namespace

// Of the prefix for documentation (RFC 3849), and of addresses that are administered locally.
ForeignPackets::Host ForeignPackets::host(std::size_t pair, bool second) {
  std::array<std::uint8_t, 16> ip{0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff};
  ip[7] = static_cast<std::uint8_t>(pair);
  ip[9] = second ? 1 : 0;  // each has a network of its own
  ip[15] = 1;
  return {.ip = Gid{ip},
          .mac = {0x02, 0xff, 0xff, 0, static_cast<std::uint8_t>(pair),
                  static_cast<std::uint8_t>(second ? 2 : 1)}};
}

ForeignPackets::ForeignPackets(const Options& options)
    : options_(options),
      own_(host(options.pair, options.second)),
      other_(host(options.pair, !options.second)),
      clock_(options.bytes_per_s) {
}

std::vector<std::byte> ForeignPackets::make(const Host& from, const Host& to,
                                            std::uint64_t number) const {
  Random random(number);
  const std::size_t follows = random.between(kLeastFollows, kMostFollows);
  const std::size_t datagram = wire::kUdpHeaderSize + kNumber + follows;
  const std::size_t link = options_.on_ethernet ? EthernetLayer::kHeader : 0;
  std::vector<std::byte> out(link + wire::kIpv6HeaderSize + datagram);
  std::byte* at = out.data();
  if (options_.on_ethernet) {
    std::memcpy(at, to.mac.data(), to.mac.size());
    std::memcpy(at + to.mac.size(), from.mac.data(), from.mac.size());
    wire::store_be16(at + 2 * to.mac.size(), Ipv6Layer::kEtherType);
    at += link;
  }
  const wire::Grh header{.payload_length = static_cast<std::uint16_t>(datagram),
                         .next_header = kForeignUdp,
                         .hop_limit = kHopLimit,
                         .sgid = from.ip,
                         .dgid = to.ip};
  header.write(MutableBytes(out).subspan(link));
  at += wire::kIpv6HeaderSize;
  wire::store_be16(at, kDiscardPort);
  wire::store_be16(at + 2, kDiscardPort);
  wire::store_be16(at + 4, static_cast<std::uint16_t>(datagram));
  std::byte* const payload = at + wire::kUdpHeaderSize;
  wire::store_be64(payload, number);
  for (std::size_t i = 0; i < follows; ++i)
    payload[kNumber + i] = static_cast<std::byte>(random.next());
  InternetChecksum sum(from.ip, to.ip, kForeignUdp, static_cast<std::uint32_t>(datagram));
  sum.add(Bytes(at, datagram));
  wire::store_be16(at + 6, sum.value() == 0 ? 0xFFFF : sum.value());
  return out;
}

std::vector<std::byte> ForeignPackets::next() {
  std::vector<std::byte> packet = make(own_, other_, sent_++);
  clock_.sent(packet.size());
  arrivals_.sent();
  return packet;
}

bool ForeignPackets::is_meant(Bytes packet) const {
  const Bytes mac = std::as_bytes(std::span(own_.mac));
  return !options_.on_ethernet ||
         (packet.size() > mac.size() && std::ranges::equal(mac, packet.first(mac.size())));
}

// As it was sent, but for the hops that it took.
void ForeignPackets::take(Bytes packet) {
  const std::size_t link = options_.on_ethernet ? EthernetLayer::kHeader : 0;
  const std::size_t number_at = link + wire::kIpv6HeaderSize + wire::kUdpHeaderSize;
  if (packet.size() < number_at + kNumber) return arrivals_.spoilt();
  const std::uint64_t number = wire::load_be64(packet.data() + number_at);
  std::vector<std::byte> wanted = make(other_, own_, number);
  wanted[link + kHopLimitAt] = packet[link + kHopLimitAt];
  if (!std::ranges::equal(packet, wanted)) return arrivals_.spoilt();
  arrivals_.whole(number);
}

}  // namespace weft::wan
