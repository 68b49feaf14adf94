// SPDX-License-Identifier: Apache-2.0
#include "lan/flow.h"

#include "lan/ethernet_frame.h"
#include "wire/endian.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"

namespace weft::lan {
namespace {

constexpr std::size_t kPorts = 4;  // both

// As of Random in base/random.h, of which it is a step.
std::uint64_t mix(std::uint64_t of, std::uint64_t more) {
  std::uint64_t z = (of ^ more) + 0x9E37'79B9'7F4A'7C15;
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  return z ^ (z >> 27);
}

std::uint64_t mix_ports(std::uint64_t flow, Bytes packet, std::size_t header, std::uint8_t next) {
  const bool has_ports = (next == wire::ip_protocol::kTcp || next == wire::ip_protocol::kUdp) &&
                         packet.size() >= header + kPorts;
  return has_ports ? mix(flow, wire::load_be32(packet.data() + header)) : flow;
}

std::uint64_t mix_ipv4(std::uint64_t flow, Bytes packet) {
  const std::byte* const at = packet.data();
  const std::size_t header = (wire::load_u8(at) & 0xFU) * 4;
  const bool fragment = (wire::load_be16(at + 6) & 0x3FFF) != 0;
  flow = mix(flow, wire::load_be64(at + 12));
  return fragment ? flow : mix_ports(flow, packet, header, wire::load_u8(at + 9));
}

std::uint64_t mix_ipv6(std::uint64_t flow, Bytes packet) {
  const std::byte* const at = packet.data();
  for (std::size_t offset = 8; offset < wire::kIpv6HeaderSize; offset += 8)
    flow = mix(flow, wire::load_be64(at + offset));
  return mix_ports(flow, packet, wire::kIpv6HeaderSize, wire::load_u8(at + 6));
}

}  // namespace

std::uint32_t flow_of(Bytes frame) {
  const auto read = EthernetFrame::read(frame);
  if (!read) return 0;
  const Bytes packet = read->payload;
  std::uint64_t flow = mix(0, wire::load_be32(frame.data() + 8));  // the end of the source address
  if (read->type == EthernetFrame::kIpv4 && packet.size() >= wire::kIpv4HeaderSize) {
    flow = mix_ipv4(flow, packet);
  } else if (read->type == EthernetFrame::kIpv6 && packet.size() >= wire::kIpv6HeaderSize) {
    flow = mix_ipv6(flow, packet);
  }
  return static_cast<std::uint32_t>(flow >> 32);
}

}  // namespace weft::lan
