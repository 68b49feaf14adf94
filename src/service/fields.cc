// SPDX-License-Identifier: Apache-2.0
#include "service/fields.h"

#include "lan/ethernet_frame.h"
#include "lan/lan_header.h"
#include "service/inner.h"
#include "wire/endian.h"

namespace weft::service {
namespace {

using wire::Operation;

constexpr std::array<std::string_view, static_cast<std::size_t>(Problem::kCount)> kTexts{
    "none",
    "a management datagram that has not 256 bytes",
    "a management datagram of an unknown version",
    "too short for its encapsulation header",
    "the IP version is not the one of the Ethertype",
    "lengths of the IP header do not fit the packet",
    "IP options or extension headers that route or cannot be walked",
    "a first fragment without all headers",
    "a transport header that is cut short or of another length than IP says",
    "ARP of other lengths",
    "more than two VLAN tags",
    "numbers of the LAN header that cannot be",
    "a later part of an Ethernet frame",
};

constexpr std::uint16_t kTagTypes[] = {0x8100, 0x88A8};  // IEEE 802.1Q, 9.6

void take_lrh(const wire::Lrh& lrh, Fields& out) {
  out.slid = lrh.slid;
  out.dlid = lrh.dlid;
  out.sl = lrh.sl;
  out.vl = lrh.vl;
}

void take_grh(const wire::Grh& grh, Fields& out) {
  out.global = true;
  out.traffic_class = grh.traffic_class;
  out.hop_limit = grh.hop_limit;
  out.flow_label = grh.flow_label;
  out.sgid = grh.sgid;
  out.dgid = grh.dgid;
}

void take_bth(const wire::Bth& bth, Fields& out) {
  const wire::OpcodeInfo& opcode = wire::info(bth.opcode);
  out.opcode = bth.opcode;
  out.solicited = bth.solicited;
  out.ack_request = bth.ack_request;
  out.pkey = bth.pkey;
  out.dest_qp = bth.dest_qp;
  out.psn = bth.psn;
  if (!opcode.known()) return;
  out.transport = opcode.transport;
  out.operation = opcode.operation;
  out.response = opcode.is_response;
  out.starts_message = opcode.starts_message();
  out.ends_message = opcode.ends_message();
}

void take_datagram(const wire::TransportPacket& packet, Fields& out) {
  if (packet.rdeth) out.eecn = packet.rdeth->ee_context;
  if (packet.deth) {
    out.has_source_qp = true;
    out.source_qp = packet.deth->src_qp;
    out.qkey = packet.deth->qkey;
  }
  if (packet.xrceth) out.xrc_srq = Qpn{packet.xrceth->srq};
}

void take_memory(const wire::TransportPacket& packet, Fields& out) {
  if (packet.reth) {
    out.has_reth = true;
    out.rkey = packet.reth->rkey;
    out.address = packet.reth->virtual_address;
    out.dma_length = packet.reth->dma_length;
  }
  if (packet.atomic_eth) {
    out.has_atomic = true;
    out.rkey = packet.atomic_eth->rkey;
    out.address = packet.atomic_eth->virtual_address;
  }
  if (packet.ieth) {
    out.has_invalidate = true;
    out.rkey = packet.ieth->rkey;
  }
  if (packet.aeth) {
    out.has_aeth = true;
    out.syndrome = packet.aeth->syndrome.byte();
    out.msn = packet.aeth->msn;
  }
  if (packet.imm_dt) {
    out.has_immediate = true;
    out.immediate = packet.imm_dt->value;
  }
}

void read_ethernet(Bytes frame, std::size_t at, bool whole, Fields& out) {
  const auto read = lan::EthernetFrame::read(frame);
  if (!read) {
    out.problem = Problem::kEncapsulation;
    return;
  }
  out.lan.destination = read->destination;
  out.lan.source = read->source;
  out.lan.tags = static_cast<std::uint8_t>(read->tags);
  if (read->tags != 0) {
    out.lan.vlan = wire::load_be16(frame.data() + lan::kEthernetHeader) & 0xFFF;
  }
  out.ether_type = read->type;
  for (const std::uint16_t tag : kTagTypes) {
    if (read->type == tag) out.problem = Problem::kTags;
  }
  if (out.problem != Problem::kNone) return;
  const std::size_t inner = at + frame.size() - read->payload.size();
  detail::read_network(read->payload, {.at = inner, .whole = whole, .infiniband = false}, out);
}

void read_lan(Bytes message, Fields& out) {
  const auto read = lan::LanMessage::parse(message);
  if (!read) {
    if (read.error() != lan::NoMessage::kMalformed) return;
    out.content = Content::kLan;
    out.problem = Problem::kLanHeader;
    return;
  }
  const lan::LanHeader& header = read->header;
  out.content = header.kind == lan::MessageKind::kGroups ? Content::kLanGroups : Content::kLan;
  out.lan.number = header.number;
  out.lan.total = header.total;
  out.lan.offset = header.offset;
  if (header.kind == lan::MessageKind::kGroups) return;
  if (header.offset != 0) {
    out.problem = Problem::kPartFrame;
    return;
  }
  const std::size_t at = out.payload_at + lan::LanHeader::kSize;
  read_ethernet(read->part, at, read->whole(), out);
}

void read_ipoib(Bytes payload, Fields& out) {
  constexpr std::size_t kEncapsulation = 4;  // RFC 4391, 6: Ethertype, and what nobody looks at
  if (payload.size() < kEncapsulation) return;
  const std::uint16_t type = wire::load_be16(payload.data());
  if (!detail::is_network_type(type)) return;
  out.content = Content::kIpoib;
  out.ether_type = type;
  const std::size_t at = out.payload_at + kEncapsulation;
  detail::read_network(payload.subspan(kEncapsulation),
                       {.at = at, .whole = true, .infiniband = true}, out);
}

// What a datagram or the first packet of a message carries.
void read_content(Bytes payload, Fields& out) {
  if (payload.empty() || !out.starts_message) return;
  out.content = Content::kOpaque;
  if (out.operation != Operation::send) return;
  if (out.transport == wire::Transport::ud) {
    const bool management = out.dest_qp.value() <= kQp1.value();
    if (management || (out.qkey == kGsiQKey && payload.size() == wire::kMadSize)) {
      detail::read_mad(payload, out);
      return;
    }
    read_ipoib(payload, out);
    if (out.content != Content::kOpaque) return;
  }
  read_lan(payload, out);
}

void read_raw(const wire::LinkPacket& packet, Fields& out) {
  out.content = Content::kRaw;
  out.payload_at =
      static_cast<std::uint16_t>(wire::Lrh::kSize + (packet.raw ? wire::RawHeader::kSize : 0));
  out.payload_size = static_cast<std::uint16_t>(packet.payload.size());
  out.form = packet.raw ? Form::kRawEtherType : Form::kRawIpv6;
  out.ether_type = packet.raw ? packet.raw->ether_type : lan::EthernetFrame::kIpv6;
  out.starts_message = true;
  out.ends_message = true;
  detail::read_network(packet.payload, {.at = out.payload_at, .whole = true, .infiniband = true},
                       out);
}

// What can be told of a packet that has failed.
void read_failed(Bytes packet, const wire::WalkFailure& failure, Fields& out) {
  out.failure = failure;
  const auto lrh = wire::Lrh::parse(packet);
  if (!lrh) return;
  take_lrh(*lrh, out);
  if (failure.error != wire::WalkError::unknown_opcode) return;
  // Everything before the opcode has passed.
  out.form = Form::kUnknownOpcode;
  out.transport_at = static_cast<std::uint8_t>(failure.offset);
  if (failure.offset != wire::Lrh::kSize) {
    take_grh(*wire::Grh::parse(packet.subspan(wire::Lrh::kSize)), out);
  }
  take_bth(*wire::Bth::parse(packet.subspan(failure.offset)), out);
}

}  // namespace

std::string_view text(Problem problem) {
  return kTexts[static_cast<std::size_t>(problem)];
}

Fields Fields::parse(Bytes packet) {
  Fields out;
  out.size = static_cast<std::uint16_t>(packet.size());
  const auto walked = wire::walk_link_packet(packet);
  if (!walked) {
    read_failed(packet, walked.error(), out);
    return out;
  }
  take_lrh(walked->lrh, out);
  if (!walked->transport) {
    read_raw(*walked, out);
    return out;
  }
  const wire::TransportPacket& transport = *walked->transport;
  out.form = Form::kTransport;
  if (walked->grh) take_grh(*walked->grh, out);
  out.transport_at =
      static_cast<std::uint8_t>(wire::Lrh::kSize + (walked->grh ? wire::Grh::kSize : 0));
  take_bth(transport.bth, out);
  take_datagram(transport, out);
  take_memory(transport, out);
  out.payload_at = static_cast<std::uint16_t>(transport.payload.data() - packet.data());
  out.payload_size = static_cast<std::uint16_t>(transport.payload.size());
  read_content(transport.payload, out);
  return out;
}

}  // namespace weft::service
