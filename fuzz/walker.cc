// SPDX-License-Identifier: Apache-2.0
// Every way by which bytes of a stranger become a packet: a link packet, a transport packet, a UD
// datagram, an Ethernet frame, an IP packet. Besides not crashing, what comes out must add up.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "input.h"
#include "wire/link_crc.h"
#include "wire/packet.h"
#include "wire/roce.h"
#include "wire/roce_frame.h"

namespace {

using namespace weft;
using namespace weft::wire;
using fuzz::require;

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

void check_failure(const WalkFailure& failure, Bytes bytes) {
  require(failure.offset <= bytes.size());
  require(!text(failure.error).empty());
}

// What was read can be written and read again.
template <class Header>
void round_trip(const Header& header) {
  std::array<std::byte, Header::kSize> bytes;
  header.write(bytes);
  require(Header::parse(bytes) == header);
}

template <class Header>
void round_trip(const std::optional<Header>& header) {
  if (header) round_trip(*header);
}

void round_trip_headers(const TransportPacket& packet) {
  round_trip(packet.bth);
  round_trip(packet.rdeth);
  round_trip(packet.deth);
  round_trip(packet.xrceth);
  round_trip(packet.feth);
  round_trip(packet.reth);
  round_trip(packet.atomic_eth);
  round_trip(packet.aeth);
  round_trip(packet.atomic_ack_eth);
  round_trip(packet.ieth);
  round_trip(packet.imm_dt);
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
  round_trip_headers(packet);
  volatile unsigned sum = touch(packet.payload);
  (void)sum;
}

void walk_as_transport(Bytes bytes) {
  const auto packet = walk_transport_packet(bytes);
  UdPacket ud;
  const bool is_ud = walk_ud_packet(bytes, ud);
  if (!packet) {
    require(!is_ud);
    return check_failure(packet.error(), bytes);
  }
  check_transport(*packet, bytes);
  require(is_ud == (info(packet->bth.opcode).transport == Transport::ud));
  if (!is_ud) return;
  require(ud.payload.data() == packet->payload.data());
  require(ud.payload.size() == packet->payload.size());
  require(ud.qkey == packet->deth->qkey && ud.src_qp == packet->deth->src_qp);
  require(ud.has_immediate == packet->imm_dt.has_value() && ud.icrc == packet->icrc);
}

// A sealed packet goes through a hop: what the hop may change leaves its CRCs right.
void pass_a_hop(MutableBytes packet, const LinkPacket& walked) {
  const std::uint64_t before = load_le64(packet.data());
  LrhView lrh(packet);
  lrh.set_vl(Vl{lrh.sl().value()});
  lrh.set_sl(Sl{walked.lrh.vl.value()});
  lrh.set_dlid(walked.lrh.slid);
  lrh.set_slid(walked.lrh.dlid);
  update_vcrc(packet, before);
  require(check_link_crcs(packet).vcrc_good);
  rewrite_vl(packet, Vl{static_cast<std::uint8_t>(lrh.vl().value() + 1)});
  require(check_link_crcs(packet).vcrc_good);
  seal_link_packet(packet);
  if (!walked.transport) return;
  if (walked.grh) {
    GrhView grh(packet.subspan(Lrh::kSize));
    grh.set_hop_limit(static_cast<std::uint8_t>(grh.hop_limit() - 1));
  }
  BthView bth(packet.subspan(Lrh::kSize + (walked.grh ? Grh::kSize : 0)));
  bth.set_fecn(!bth.fecn());
  bth.set_becn(!bth.becn());
  require(check_link_crcs(packet).icrc_good);
}

void walk_as_link_packet(Bytes bytes) {
  const auto packet = walk_link_packet(bytes);
  if (!packet) return check_failure(packet.error(), bytes);
  require(lies_within(packet->payload, bytes));
  round_trip(packet->lrh);
  round_trip(packet->grh);
  round_trip(packet->raw);
  if (packet->transport) {
    const std::size_t routing = Lrh::kSize + (packet->grh ? Grh::kSize : 0);
    check_transport(*packet->transport, bytes.subspan(routing, bytes.size() - routing - kVcrcSize));
  }
  // Whatever walks can be sealed, and is then right.
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  seal_link_packet(copy);
  require(check_link_crcs(copy).good());
  pass_a_hop(copy, *packet);
}

void walk_as_frame(const Walked<RoceFrame>& frame, Bytes bytes) {
  if (!frame) return check_failure(frame.error(), bytes);
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
