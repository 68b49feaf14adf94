// SPDX-License-Identifier: Apache-2.0
// Every way by which bytes of a stranger become a packet: a link packet, a transport packet, a UD
// datagram, an Ethernet frame, an IP packet. Besides not crashing, what comes out must add up.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "wire/link_crc.h"
#include "wire/packet.h"
#include "wire/roce.h"
#include "wire/roce_frame.h"

namespace {

using namespace weft;
using namespace weft::wire;

void require(bool condition) {
  if (!condition) std::abort();
}

bool lies_within(Bytes inner, Bytes outer) {
  return inner.empty() || (inner.data() >= outer.data() &&
                           inner.data() + inner.size() <= outer.data() + outer.size());
}

// Reads the span, so that a sanitizer sees it if it reaches outside of the input.
unsigned touch(Bytes bytes) {
  unsigned sum = 0;
  for (const std::byte byte : bytes)
    sum += std::to_integer<unsigned>(byte);
  return sum;
}

void check_transport(const TransportPacket& packet, Bytes bytes) {
  const OpcodeInfo& opcode = info(packet.bth.opcode);
  require(opcode.known());
  require(lies_within(packet.payload, bytes));
  require(Bth::kSize + opcode.headers_size + packet.payload.size() + packet.bth.pad_count +
              kIcrcSize ==
          bytes.size());
  require(packet.deth.has_value() == opcode.has(kDeth));
  require(packet.reth.has_value() == opcode.has(kReth));
  require(packet.aeth.has_value() == opcode.has(kAeth));
  require(opcode.has_payload || packet.payload.empty());
  volatile unsigned sum = touch(packet.payload);
  (void)sum;
}

void walk_as_transport(Bytes bytes) {
  const auto packet = walk_transport_packet(bytes);
  UdPacket ud;
  const bool is_ud = walk_ud_packet(bytes, ud);
  if (!packet) {
    require(!is_ud);
    require(packet.error().offset <= bytes.size());
    require(!text(packet.error().error).empty());
    return;
  }
  check_transport(*packet, bytes);
  require(is_ud == (info(packet->bth.opcode).transport == Transport::ud));
  if (!is_ud) return;
  require(ud.payload.data() == packet->payload.data());
  require(ud.payload.size() == packet->payload.size());
  require(ud.qkey == packet->deth->qkey && ud.src_qp == packet->deth->src_qp);
  require(ud.has_immediate == packet->imm_dt.has_value() && ud.icrc == packet->icrc);
}

void walk_as_link_packet(Bytes bytes) {
  const auto packet = walk_link_packet(bytes);
  if (!packet) {
    require(packet.error().offset <= bytes.size());
    return;
  }
  require(lies_within(packet->payload, bytes));
  if (packet->transport) {
    const std::size_t routing = Lrh::kSize + (packet->grh ? Grh::kSize : 0);
    check_transport(*packet->transport, bytes.subspan(routing, bytes.size() - routing - kVcrcSize));
  }
  // Whatever walks can be sealed, and is then right.
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  seal_link_packet(copy);
  require(check_link_crcs(copy).good());
}

void walk_as_frame(const Walked<RoceFrame>& frame, Bytes bytes) {
  if (!frame) {
    require(frame.error().offset <= bytes.size());
    return;
  }
  require(lies_within(frame->ip_header, bytes) && lies_within(frame->transport, bytes));
  const Datagram& datagram = frame->datagram;
  const bool good = check_icrc(*frame);
  // A flow has neither IPv4 options nor the reserved flag.
  const bool ipv4 = std::to_integer<unsigned>(frame->ip_header[0]) >> 4 == 4;
  const bool reserved_flag = (std::to_integer<unsigned>(frame->ip_header[6]) & 0x80) != 0;
  if (ipv4 && (frame->ip_header.size() > kIpv4HeaderSize || reserved_flag)) return;
  if (ipv4 != datagram.is_ipv4()) return;  // IPv6 with IPv4-mapped addresses
  const IcrcFlow flow(datagram.src, datagram.dst, datagram.src_port, datagram.dst_port,
                      datagram.dont_fragment);
  const IcrcVerdict verdict = flow.check(frame->transport, datagram.identification);
  require(good == (verdict == IcrcVerdict::good));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  walk_as_transport(bytes);
  walk_as_link_packet(bytes);
  walk_as_frame(parse_ethernet(bytes), bytes);
  walk_as_frame(parse_ip(bytes), bytes);
  return 0;
}
