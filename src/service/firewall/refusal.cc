// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/refusal.h"

#include <cassert>

#include "wire/bth.h"
#include "wire/cm_refuse.h"
#include "wire/cm_sidr.h"
#include "wire/deth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"

namespace weft::service::firewall {
namespace {

using wire::CmMessage;

void write_mad(const Fields& fields, MutableBytes out) {
  const bool sidr = fields.cm.message == CmMessage::kSidrReq;
  const CmMessage answer = sidr ? CmMessage::kSidrRep : CmMessage::kRej;
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kCommMgt,
                  .class_version = wire::kCmClassVersion,
                  .method = wire::MadMethod::kSend,
                  .transaction_id = fields.mad.transaction,
                  .attribute_id = static_cast<std::uint16_t>(answer)}
      .write(out);
  const MutableBytes body = out.subspan(wire::MadHeader::kSize);
  if (sidr) {
    wire::CmSidrRep{.request_id = fields.cm.local_comm_id,
                    .status = wire::SidrStatus::kRejected,
                    .service_id = fields.cm.service_id}
        .write(body);
  } else {
    wire::CmRej{.remote_comm_id = fields.cm.local_comm_id,
                .message = wire::CmAnswered::kReq,
                .reason = wire::RejectReason::kConsumerReject}
        .write(body);
  }
}

}  // namespace

std::optional<Bytes> refusal_of(const Fields& fields, MutableBytes out) {
  assert(out.size() >= kMostRefusal);
  const bool asks =
      fields.cm.present && fields.problem == Problem::kNone &&
      (fields.cm.message == CmMessage::kReq || fields.cm.message == CmMessage::kSidrReq);
  // Only to one station, and only what came as such messages do.
  const bool answerable = fields.slid != Lid{} && fields.slid.value() < 0xC000 &&
                          fields.dlid.value() < 0xC000 && fields.source_qp == kQp1 &&
                          fields.dest_qp == kQp1 && !fields.sgid.is_multicast();
  if (!asks || !answerable) return std::nullopt;
  const std::size_t before = wire::Lrh::kSize + (fields.global ? wire::Grh::kSize : 0);
  const std::size_t transport =
      wire::Bth::kSize + wire::Deth::kSize + wire::kMadSize + wire::kIcrcSize;
  const MutableBytes packet = out.first(before + transport + wire::kVcrcSize);
  wire::Lrh{.vl = fields.vl,
            .sl = fields.sl,
            .next_header = fields.global ? wire::Lnh::iba_global : wire::Lnh::iba_local,
            .dlid = fields.slid,
            .packet_words = static_cast<std::uint16_t>((before + transport) / 4),
            .slid = fields.dlid}
      .write(packet);
  if (fields.global) {
    constexpr std::uint8_t kManyHops = 64;
    wire::Grh{.traffic_class = fields.traffic_class,
              .flow_label = fields.flow_label,
              .payload_length = static_cast<std::uint16_t>(transport),
              .hop_limit = kManyHops,
              .sgid = fields.dgid,
              .dgid = fields.sgid}
        .write(packet.subspan(wire::Lrh::kSize));
  }
  std::size_t at = before;
  // Whoever is a limited member of the partition hears full ones only (IBA 10.9.3).
  const PKey pkey{static_cast<std::uint16_t>(fields.pkey.value() | 0x8000)};
  wire::Bth{.opcode = wire::Opcode::ud_send_only, .pkey = pkey, .dest_qp = kQp1}.write(
      packet.subspan(at));
  at += wire::Bth::kSize;
  wire::Deth{.qkey = kGsiQKey, .src_qp = kQp1}.write(packet.subspan(at));
  write_mad(fields, packet.subspan(at + wire::Deth::kSize));
  wire::seal_link_packet(packet);
  return Bytes(packet);
}

}  // namespace weft::service::firewall
