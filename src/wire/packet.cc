// SPDX-License-Identifier: Apache-2.0
#include "wire/packet.h"

#include <array>

namespace weft::wire {
namespace {

// In the order of WalkError.
constexpr std::array<std::string_view, static_cast<std::size_t>(WalkError::kCount)> kTexts{
    "the packet ends inside a header",
    "LVer is not 0",
    "PktLen is not the length of the packet",
    "PktLen is below the least allowed",
    "IPVer of the GRH is not 6",
    "NxtHdr of the GRH is not 0x1B",
    "PayLen of the GRH disagrees with PktLen",
    "BTH through ICRC is not a multiple of 4 bytes",
    "TVer is not 0",
    "OpCode is reserved",
    "PadCnt is more than there is payload",
    "the opcode has no payload, but bytes follow its headers",
    "the Ethernet frame carries neither IPv4 nor IPv6",
    "the IP version disagrees with the EtherType",
    "the IPv4 header length is below 20 bytes",
    "the IP length does not fit the frame and its headers",
    "the IP packet is a fragment",
    "the IP packet does not carry UDP",
    "the UDP length is not what IP carries",
};

tl::unexpected<WalkFailure> refuse(WalkError error, std::size_t offset) {
  return tl::unexpected(WalkFailure{error, offset});
}

// Parses a header if the opcode has it; `at` moves past it. The caller has checked the length.
template <class Header>
void take(const OpcodeInfo& opcode, ExtendedHeader which, Bytes bytes, std::size_t& at,
          std::optional<Header>& into) {
  if (!opcode.has(which)) return;
  into = Header::parse(bytes.subspan(at));
  at += Header::kSize;
}

void take_extended_headers(const OpcodeInfo& opcode, Bytes bytes, TransportPacket& packet) {
  std::size_t at = Bth::kSize;
  take(opcode, kRdeth, bytes, at, packet.rdeth);
  take(opcode, kDeth, bytes, at, packet.deth);
  take(opcode, kXrceth, bytes, at, packet.xrceth);
  take(opcode, kFeth, bytes, at, packet.feth);
  take(opcode, kReth, bytes, at, packet.reth);
  take(opcode, kAtomicEth, bytes, at, packet.atomic_eth);
  take(opcode, kAeth, bytes, at, packet.aeth);
  take(opcode, kAtomicAckEth, bytes, at, packet.atomic_ack_eth);
  take(opcode, kIeth, bytes, at, packet.ieth);
  take(opcode, kImmDt, bytes, at, packet.imm_dt);
  take(opcode, kRidingAck, bytes, at, packet.riding_ack);
}

// `base` is where `bytes` starts in what the caller was given, for the offsets of failures.
Walked<TransportPacket> walk_transport(Bytes bytes, std::size_t base) {
  const auto bth = Bth::parse(bytes);
  if (!bth) return refuse(WalkError::too_short, base);
  if (bth->transport_version != 0) return refuse(WalkError::bad_transport_version, base + 1);
  const OpcodeInfo& opcode = info(bth->opcode);
  if (!opcode.known()) return refuse(WalkError::unknown_opcode, base);

  const std::size_t headers = Bth::kSize + opcode.headers_size;
  if (bytes.size() < headers + kIcrcSize) return refuse(WalkError::too_short, base + Bth::kSize);
  if (bytes.size() % 4 != 0) return refuse(WalkError::unaligned_length, base);
  const std::size_t padded = bytes.size() - headers - kIcrcSize;
  if (bth->pad_count > padded) return refuse(WalkError::pad_exceeds_payload, base + 1);
  if (padded != 0 && !opcode.has_payload) {
    return refuse(WalkError::unexpected_payload, base + headers);
  }

  Walked<TransportPacket> packet(tl::in_place);
  packet->bth = *bth;
  take_extended_headers(opcode, bytes, *packet);
  packet->payload = bytes.subspan(headers, padded - bth->pad_count);
  packet->icrc = load_le32(bytes.data() + bytes.size() - kIcrcSize);
  return packet;
}

// `bytes` is the packet without its VCRC; the LRH has been checked and its next header is a GRH.
std::optional<WalkFailure> walk_grh(Bytes bytes, std::optional<Grh>& grh) {
  grh = Grh::parse(bytes.subspan(Lrh::kSize));
  if (!grh) return WalkFailure{WalkError::too_short, Lrh::kSize};
  if (grh->ip_version != Grh::kIpVersion) {
    return WalkFailure{WalkError::bad_grh_version, Lrh::kSize};
  }
  if (grh->next_header != Grh::kNextHeaderIba) {
    return WalkFailure{WalkError::bad_grh_next_header, Lrh::kSize + 6};
  }
  if (grh->payload_length != bytes.size() - Lrh::kSize - Grh::kSize) {
    return WalkFailure{WalkError::grh_length_mismatch, Lrh::kSize + 4};
  }
  return std::nullopt;
}

// IBA 7.7.8: the least PktLen of a transport packet is LRH, BTH and ICRC; of a raw one, 5.
std::size_t least_words(Lnh next_header) {
  return next_header == Lnh::iba_local || next_header == Lnh::iba_global ? 6 : 5;
}

}  // namespace

std::string_view text(WalkError error) {
  return kTexts[static_cast<std::size_t>(error)];
}

Walked<TransportPacket> walk_transport_packet(Bytes bytes) {
  return walk_transport(bytes, 0);
}

Walked<LinkPacket> walk_link_packet(Bytes bytes) {
  const auto lrh = Lrh::parse(bytes);
  if (!lrh) return refuse(WalkError::too_short, 0);
  if (lrh->link_version != 0) return refuse(WalkError::bad_link_version, 0);
  if (lrh->packet_words < least_words(lrh->next_header)) {
    return refuse(WalkError::link_length_too_small, 4);
  }
  if (bytes.size() != lrh->packet_bytes() + kVcrcSize) {
    return refuse(WalkError::link_length_mismatch, 4);
  }

  Walked<LinkPacket> packet(tl::in_place);
  packet->lrh = *lrh;
  packet->vcrc = load_le16(bytes.data() + lrh->packet_bytes());
  const Bytes covered = bytes.first(lrh->packet_bytes());
  std::size_t at = Lrh::kSize;
  if (lrh->next_header == Lnh::raw || lrh->next_header == Lnh::raw_ipv6) {
    if (lrh->next_header == Lnh::raw) {
      packet->raw = RawHeader::parse(covered.subspan(at));
      at += RawHeader::kSize;
    }
    packet->payload = covered.subspan(at);
    return packet;
  }
  if (lrh->next_header == Lnh::iba_global) {
    if (const auto failure = walk_grh(covered, packet->grh)) return tl::unexpected(*failure);
    at += Grh::kSize;
  }
  auto transport = walk_transport(covered.subspan(at), at);
  if (!transport) return tl::unexpected(transport.error());
  packet->payload = transport->payload;
  packet->transport = *transport;
  return packet;
}

bool walk_ud_packet(Bytes bytes, UdPacket& packet) {
  constexpr std::size_t kLeast = Bth::kSize + Deth::kSize + kIcrcSize;
  if (bytes.size() < kLeast || bytes.size() % 4 != 0) return false;
  const auto bth = Bth::parse(bytes);
  const bool has_immediate = bth->opcode == Opcode::ud_send_only_imm;
  if ((bth->opcode != Opcode::ud_send_only && !has_immediate) || bth->transport_version != 0) {
    return false;
  }
  const std::size_t headers = Bth::kSize + Deth::kSize + (has_immediate ? ImmDt::kSize : 0);
  if (bytes.size() < headers + kIcrcSize + bth->pad_count) return false;

  const auto deth = Deth::parse(bytes.subspan(Bth::kSize));
  packet = UdPacket{
      .pkey = bth->pkey,
      .qkey = deth->qkey,
      .dest_qp = bth->dest_qp,
      .src_qp = deth->src_qp,
      .psn = bth->psn,
      .solicited = bth->solicited,
      .fecn = bth->fecn,
      .becn = bth->becn,
      .has_immediate = has_immediate,
      .immediate = has_immediate ? load_be32(bytes.data() + headers - ImmDt::kSize) : 0,
      .icrc = load_le32(bytes.data() + bytes.size() - kIcrcSize),
      .payload = bytes.subspan(headers, bytes.size() - headers - kIcrcSize - bth->pad_count)};
  return true;
}

}  // namespace weft::wire
