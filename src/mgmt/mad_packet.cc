// SPDX-License-Identifier: Apache-2.0
#include "mgmt/mad_packet.h"

#include <array>
#include <cassert>
#include <cstring>

#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::mgmt {
namespace {

constexpr Vl kManagementLane{15};

constexpr std::array<std::string_view, static_cast<std::size_t>(MadPacketError::kCount)> kTexts{
    "not an IBA packet",
    "a packet whose ICRC is wrong",
    "not a UD SEND Only to queue pair 0 or 1",
    "a management datagram whose length is not 256 bytes",
    "queue pair 0 outside VL15, or queue pair 1 on it",
    "a subnet management packet with a GRH",
    "queue pair 1 with a Q_Key other than 0x80010000",
};

}  // namespace

std::string_view text(MadPacketError error) {
  return kTexts[static_cast<std::size_t>(error)];
}

tl::expected<MadPacket, MadPacketError> parse_mad_packet(Bytes packet, PortNumber port) {
  const auto walked = wire::walk_link_packet(packet);
  if (!walked) return tl::unexpected(MadPacketError::kMalformed);
  if (!walked->transport || walked->transport->bth.opcode != wire::Opcode::ud_send_only) {
    return tl::unexpected(MadPacketError::kNotMad);
  }
  const wire::TransportPacket& transport = *walked->transport;
  const Qpn dest_qp = transport.bth.dest_qp;
  if (dest_qp != kQp0 && dest_qp != kQp1) return tl::unexpected(MadPacketError::kNotMad);
  if (transport.payload.size() != wire::kMadSize) return tl::unexpected(MadPacketError::kLength);
  if ((dest_qp == kQp0) != (walked->lrh.vl == kManagementLane)) {
    return tl::unexpected(MadPacketError::kLane);
  }
  if (dest_qp == kQp0 && walked->grh) return tl::unexpected(MadPacketError::kGlobalSmp);
  if (dest_qp == kQp1 && transport.deth->qkey != kGsiQKey) {
    return tl::unexpected(MadPacketError::kQKey);
  }
  const Bytes covered = packet.first(packet.size() - wire::kIcrcSize - wire::kVcrcSize);
  if (wire::link_icrc(covered) != transport.icrc) return tl::unexpected(MadPacketError::kIcrc);
  return MadPacket{.envelope = {.port = port,
                                .slid = walked->lrh.slid,
                                .dlid = walked->lrh.dlid,
                                .sl = walked->lrh.sl,
                                .source_qp = transport.deth->src_qp,
                                .dest_qp = dest_qp,
                                .qkey = transport.deth->qkey,
                                .pkey = transport.bth.pkey,
                                .grh = walked->grh},
                   .mad = transport.payload.first<wire::kMadSize>()};
}

std::size_t write_mad_packet(const MadEnvelope& envelope, wire::MadBytes mad, Psn psn,
                             MutableBytes out) {
  assert(out.size() >= kMaxMadPacket);
  const std::size_t grh_size = envelope.grh ? wire::Grh::kSize : 0;
  const std::size_t transport_size =
      wire::Bth::kSize + wire::Deth::kSize + wire::kMadSize + wire::kIcrcSize;
  const std::size_t covered = wire::Lrh::kSize + grh_size + transport_size;
  const wire::Lrh lrh{.vl = envelope.dest_qp == kQp0 ? kManagementLane : Vl{0},
                      .sl = envelope.sl,
                      .next_header = envelope.grh ? wire::Lnh::iba_global : wire::Lnh::iba_local,
                      .dlid = envelope.dlid,
                      .packet_words = static_cast<std::uint16_t>(covered / 4),
                      .slid = envelope.slid};
  lrh.write(out);
  std::size_t at = wire::Lrh::kSize;
  if (envelope.grh) {
    wire::Grh grh = *envelope.grh;
    grh.payload_length = static_cast<std::uint16_t>(transport_size);
    grh.next_header = wire::Grh::kNextHeaderIba;
    grh.write(out.subspan(at));
    at += wire::Grh::kSize;
  }
  const wire::Bth bth{.opcode = wire::Opcode::ud_send_only,
                      .pkey = envelope.pkey,
                      .dest_qp = envelope.dest_qp,
                      .psn = psn};
  bth.write(out.subspan(at));
  at += wire::Bth::kSize;
  wire::Deth{.qkey = envelope.qkey, .src_qp = envelope.source_qp}.write(out.subspan(at));
  at += wire::Deth::kSize;
  std::memcpy(out.data() + at, mad.data(), mad.size());
  const MutableBytes packet = out.first(covered + wire::kVcrcSize);
  wire::seal_link_packet(packet);
  return packet.size();
}

}  // namespace weft::mgmt
