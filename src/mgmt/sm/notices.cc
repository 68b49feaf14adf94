// SPDX-License-Identifier: Apache-2.0
#include "mgmt/sm/notices.h"

#include <algorithm>
#include <cstring>

#include "wire/endian.h"
#include "wire/sm/bad_key.h"
#include "wire/sm/smp.h"

namespace weft::mgmt {
namespace {

using wire::Notice;
using wire::NoticeType;
using wire::TrapNumber;

Notice notice_of(TrapNumber trap, NoticeType type, wire::NodeType producer) {
  return {.type = type, .producer = static_cast<std::uint8_t>(producer), .trap = trap};
}

}  // namespace

Notice link_state_notice(Lid lid) {
  Notice notice =
      notice_of(TrapNumber::kLinkStateChange, NoticeType::kUrgent, wire::NodeType::kSwitch);
  wire::store_be16(notice.details.data(), lid.value());
  return notice;
}

Notice link_trouble_notice(TrapNumber trap, wire::NodeType producer, Lid lid, PortNumber port) {
  Notice notice = notice_of(trap, NoticeType::kUrgent, producer);
  wire::store_be16(notice.details.data() + 2, lid.value());
  wire::store_u8(notice.details.data() + 4, port);
  return notice;
}

// 2-3 LID  5 OtherLocalChanges(bit 0)  6-9 CapabilityMask  10-11 ChangeFlags (bit 0: description)
// 12-13 CapabilityMask2
Notice capability_notice(wire::NodeType producer, const wire::PortInfo& info,
                         bool description_changed) {
  Notice notice = notice_of(TrapNumber::kCapabilityChange, NoticeType::kInformational, producer);
  std::byte* at = notice.details.data();
  wire::store_be16(at + 2, info.lid.value());
  wire::store_u8(at + 5, description_changed ? 1 : 0);
  wire::store_be32(at + 6, info.capability_mask);
  wire::store_be16(at + 10, description_changed ? 1 : 0);
  wire::store_be16(at + 12, info.capability_mask2);
  return notice;
}

Notice bad_mkey_notice(wire::NodeType producer, const MadEnvelope& envelope, wire::MadBytes smp) {
  Notice notice = notice_of(TrapNumber::kBadMkey, NoticeType::kSecurity, producer);
  const auto header = *wire::MadHeader::parse(smp);
  wire::BadMkeyDetails details{.slid = envelope.slid,
                               .dr_slid = {},
                               .method = header.method,
                               .attribute = header.attribute_id,
                               .modifier = header.attribute_modifier,
                               .mkey = wire::smp::mkey(smp)};
  if (header.mgmt_class == wire::MgmtClass::kSubnDirected) {
    const std::size_t hops = std::min<std::size_t>(wire::smp::hop_count(smp), wire::kMaxHops);
    const std::size_t shown = std::min(hops, details.return_path.size());
    details.dr_slid = wire::smp::dr_slid(smp);
    details.is_directed = true;
    details.is_truncated = shown < hops;
    details.hops = static_cast<std::uint8_t>(shown);
    // The last hops of the way: entry 1 is the port of the first switch.
    std::memcpy(details.return_path.data(),
                smp.data() + wire::smp::kReturnPathOffset + 1 + (hops - shown), shown);
  }
  details.write(notice.details);
  return notice;
}

Notice bad_key_notice(wire::NodeType producer, const KeyViolation& violation) {
  const bool pkey = violation.kind == KeyViolation::Kind::kPKey;
  Notice notice = notice_of(pkey ? TrapNumber::kBadPkey : TrapNumber::kBadQkey,
                            NoticeType::kSecurity, producer);
  wire::BadKeyDetails details{.slid = violation.slid,
                              .dlid = violation.dlid,
                              .key = violation.key,
                              .sl = violation.sl,
                              .source_qp = violation.source_qp,
                              .dest_qp = violation.dest_qp};
  if (violation.grh) {
    details.sgid = violation.grh->sgid;
    details.dgid = violation.grh->dgid;
  }
  details.write(notice.details);
  return notice;
}

Notice bad_pkey_at_switch_notice(const KeyViolation& violation, Lid lid, PortNumber port) {
  using Details = wire::BadPkeyAtSwitchDetails;
  Notice notice =
      notice_of(TrapNumber::kBadPkeyAtSwitch, NoticeType::kSecurity, wire::NodeType::kSwitch);
  Details details{.valid = Details::kAllButGids,
                  .slid = violation.slid,
                  .dlid = violation.dlid,
                  .pkey = PKey{static_cast<std::uint16_t>(violation.key)},
                  .sl = violation.sl,
                  .source_qp = violation.source_qp,
                  .dest_qp = violation.dest_qp,
                  .sgid = {},
                  .dgid = {},
                  .switch_lid = lid,
                  .port = port};
  if (violation.grh) {
    details.valid |= Details::kGids;
    details.sgid = violation.grh->sgid;
    details.dgid = violation.grh->dgid;
  }
  details.write(notice.details);
  return notice;
}

}  // namespace weft::mgmt
