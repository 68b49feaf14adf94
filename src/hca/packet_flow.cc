// SPDX-License-Identifier: Apache-2.0
#include "hca/packet_flow.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"
#include "wire/lrh.h"
#include "wire/opcode.h"
#include "wire/packet.h"

namespace weft::hca {
namespace {

namespace ip_protocol = wire::ip_protocol;

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86DD;
constexpr std::uint16_t kVlan = 0x8100;         // IEEE 802.1Q
constexpr std::uint16_t kServiceVlan = 0x88A8;  // IEEE 802.1ad
constexpr std::size_t kMacs = 12;               // both addresses of an Ethernet frame
constexpr std::size_t kVlanTag = 4;
constexpr std::size_t kMostVlanTags = 2;
constexpr std::size_t kIpoibHeader = 4;  // RFC 4391, 6: type(16) reserved(16)
// Of EoIB: signature 3(2) version 0(2) checksums(4), segment offset(8), segment(16).
constexpr std::size_t kEoibHeader = 4;
constexpr std::uint32_t kEoibMask = 0xF0FF'FFFF;
constexpr std::uint32_t kEoibWhole = 0xC000'0000;  // in one segment
constexpr std::size_t kPortBytes = 4;

// The beginning of what is behind the transport headers, or of a raw packet's payload, made
// contiguous: as much as the headers of IP and of what is around it can take.
struct Window {
  static constexpr std::size_t kMost =
      kEoibHeader + kMacs + kMostVlanTags * kVlanTag + 2 + 60 + kPortBytes;
  std::array<std::byte, kMost> bytes;
  std::size_t size = 0;   // of `bytes`
  std::size_t total = 0;  // of all that is there, by the packet's length

  [[nodiscard]] Bytes all() const { return Bytes(bytes).first(size); }
};

Window window_of(Bytes front, Bytes rest, std::size_t total) {
  Window out;
  out.total = total;
  const std::size_t wanted = std::min(total, out.bytes.size());
  const std::size_t first = std::min(wanted, front.size());
  const std::size_t second = std::min(wanted - first, rest.size());
  if (first > 0) std::memcpy(out.bytes.data(), front.data(), first);
  if (second > 0) std::memcpy(out.bytes.data() + first, rest.data(), second);
  out.size = first + second;
  return out;
}

void put(PacketFlow& flow, std::size_t at, Bytes bytes) {
  std::memcpy(flow.bytes.data() + at, bytes.data(), bytes.size());
}

bool has_ports(std::uint8_t protocol) {
  return protocol == ip_protocol::kTcp || protocol == ip_protocol::kUdp ||
         protocol == ip_protocol::kSctp;
}

void put_inner(PacketFlow& flow, std::uint8_t version, std::uint8_t protocol, Bytes addresses,
               Bytes ports) {
  flow.inner = true;
  flow.bytes[PacketFlow::kIpVersion] = std::byte{version};
  flow.bytes[PacketFlow::kProtocol] = std::byte{protocol};
  put(flow, PacketFlow::kAddresses, addresses);
  if (has_ports(protocol) && ports.size() >= kPortBytes) {
    put(flow, PacketFlow::kPorts, ports.first(kPortBytes));
  }
}

// `length`: of the packet, as far as can be told from outside; `exact`: no padding may follow.
bool has_length(std::size_t says, std::size_t length, bool exact) {
  return exact ? says == length : says <= length;
}

void read_ipv4(PacketFlow& flow, Bytes ip, std::size_t length, bool exact) {
  if (ip.size() < wire::kIpv4HeaderSize) return;
  const std::byte* const at = ip.data();
  const std::size_t header = (wire::load_u8(at) & 0xFU) * 4;
  const std::size_t says = wire::load_be16(at + 2);
  if (wire::load_u8(at) >> 4 != 4 || header < wire::kIpv4HeaderSize || header > says ||
      header > ip.size() || !has_length(says, length, exact)) {
    return;
  }
  const bool fragment = (wire::load_be16(at + 6) & 0x3FFF) != 0;
  put_inner(flow, 4, wire::load_u8(at + 9), ip.subspan(12, 8),
            fragment ? Bytes{} : ip.subspan(header));
}

void read_ipv6(PacketFlow& flow, Bytes ip, std::size_t length, bool exact) {
  if (ip.size() < wire::kIpv6HeaderSize) return;
  const std::byte* const at = ip.data();
  const std::size_t says = wire::kIpv6HeaderSize + wire::load_be16(at + 4);
  if (wire::load_u8(at) >> 4 != 6 || !has_length(says, length, exact)) return;
  put_inner(flow, 6, wire::load_u8(at + 6), ip.subspan(8, 32), ip.subspan(wire::kIpv6HeaderSize));
}

void read_ip(PacketFlow& flow, std::uint16_t type, const Window& window, std::size_t at,
             bool exact) {
  const Bytes ip = window.all().subspan(at);
  const std::size_t length = window.total - at;
  if (type == kIpv4) read_ipv4(flow, ip, length, exact);
  if (type == kIpv6) read_ipv6(flow, ip, length, exact);
}

// Of a frame at `at`; frames shorter than Ethernet's least are padded.
void read_frame(PacketFlow& flow, const Window& window, std::size_t at) {
  at += kMacs;
  for (std::size_t tags = 0; at + 2 <= window.size; ++tags) {
    const std::uint16_t type = wire::load_be16(window.bytes.data() + at);
    const bool tagged = type == kVlan || type == kServiceVlan;
    if (!tagged) return read_ip(flow, type, window, at + 2, false);
    if (tags == kMostVlanTags) return;
    at += kVlanTag;
  }
}

void read_datagram(PacketFlow& flow, const Window& window) {
  if (window.size < kIpoibHeader) return;
  const std::uint32_t first = wire::load_be32(window.bytes.data());
  if ((first & 0xFFFF) == 0) {
    read_ip(flow, static_cast<std::uint16_t>(first >> 16), window, kIpoibHeader, true);
  }
  if ((first & kEoibMask) == kEoibWhole) read_frame(flow, window, kEoibHeader);
}

// IBA 5.3: an IPv6 packet behind the LRH, or whatever an EtherType says.
void read_raw(PacketFlow& flow, wire::Lnh next, const Window& window) {
  constexpr std::size_t kRawHeader = 4;
  if (next == wire::Lnh::raw_ipv6) return read_ip(flow, kIpv6, window, 0, false);
  if (window.size < kRawHeader) return;
  read_ip(flow, wire::load_be16(window.bytes.data() + 2), window, kRawHeader, false);
}

// Bytes of a packet behind its first `before`, without those of `behind` it, by its own length.
std::size_t length_behind(const wire::Lrh& lrh, std::size_t before, std::size_t behind) {
  const std::size_t all = lrh.packet_bytes();
  return all > before + behind ? all - before - behind : 0;
}

}  // namespace

PacketFlow flow_of(Bytes header, Bytes payload) {
  PacketFlow flow;
  const auto lrh = wire::Lrh::parse(header);
  if (!lrh) return flow;
  put(flow, PacketFlow::kSlid, header.subspan(wire::LrhView::kSlidBytes, 2));
  put(flow, PacketFlow::kDlid, header.subspan(wire::LrhView::kDlidBytes, 2));
  std::size_t at = wire::Lrh::kSize;
  if (lrh->next_header == wire::Lnh::raw || lrh->next_header == wire::Lnh::raw_ipv6) {
    const std::size_t total = length_behind(*lrh, at, 0);
    read_raw(flow, lrh->next_header, window_of(header.subspan(at), payload, total));
    return flow;
  }
  if (lrh->next_header == wire::Lnh::iba_global) {
    if (header.size() < at + wire::Grh::kSize) return flow;
    put(flow, PacketFlow::kGids, header.subspan(at + 8, 32));
    flow.global = true;
    at += wire::Grh::kSize;
  }
  const auto bth = wire::Bth::parse(header.subspan(at));
  if (!bth) return flow;
  put(flow, PacketFlow::kDestinationQp, header.subspan(at + 5, 3));
  at += wire::Bth::kSize;
  const wire::OpcodeInfo& opcode = wire::info(bth->opcode);
  if (!opcode.has(wire::kDeth) || header.size() < at + opcode.headers_size) return flow;
  // An RDETH comes before it.
  const std::size_t deth = at + (opcode.has(wire::kRdeth) ? wire::Rdeth::kSize : 0);
  put(flow, PacketFlow::kSourceQp, header.subspan(deth + 5, 3));
  if (opcode.transport != wire::Transport::ud) return flow;
  at += opcode.headers_size;
  const std::size_t total = length_behind(*lrh, at, wire::kIcrcSize + bth->pad_count);
  read_datagram(flow, window_of(header.subspan(at), payload, total));
  return flow;
}

}  // namespace weft::hca
