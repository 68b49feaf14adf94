// SPDX-License-Identifier: Apache-2.0
#include "mgmt/sm/notices.h"

#include <algorithm>
#include <cstring>

#include "wire/endian.h"
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

// 2-3 LID  4-5 DrSLID  6 Method  8-9 AttributeID  10-13 AttributeModifier  14-21 M_Key
// 23 DrNotice(1) PathTruncated(1) HopCount(6)  24-53 ReturnPath
Notice bad_mkey_notice(wire::NodeType producer, const MadEnvelope& envelope, wire::MadBytes smp) {
  constexpr std::size_t kPathRoom = 30;
  Notice notice = notice_of(TrapNumber::kBadMkey, NoticeType::kSecurity, producer);
  std::byte* at = notice.details.data();
  const auto header = *wire::MadHeader::parse(smp);
  wire::store_be16(at + 2, envelope.slid.value());
  wire::store_u8(at + 6, static_cast<std::uint8_t>(header.method));
  wire::store_be16(at + 8, header.attribute_id);
  wire::store_be32(at + 10, header.attribute_modifier);
  wire::store_be64(at + 14, wire::smp::mkey(smp));
  if (header.mgmt_class == wire::MgmtClass::kSubnDirected) {
    const std::size_t hops = std::min<std::size_t>(wire::smp::hop_count(smp), wire::kMaxHops);
    const std::size_t shown = std::min(hops, kPathRoom);
    wire::store_be16(at + 4, wire::smp::dr_slid(smp).value());
    wire::store_u8(at + 23, static_cast<std::uint8_t>(0x80 | (shown < hops ? 0x40 : 0) | shown));
    // The last hops of the way: entry 1 is the port of the first switch.
    std::memcpy(at + 24, smp.data() + wire::smp::kReturnPathOffset + 1 + (hops - shown), shown);
  }
  return notice;
}

// 2-3 LID1  4-5 LID2  6-9 Key  10 SL(4)  11-13 QP1  15-17 QP2  18-33 GID1  34-49 GID2: 1 is who
// sent it, 2 whom it was for.
Notice bad_key_notice(wire::NodeType producer, const KeyViolation& violation) {
  const bool pkey = violation.kind == KeyViolation::Kind::kPKey;
  Notice notice = notice_of(pkey ? TrapNumber::kBadPkey : TrapNumber::kBadQkey,
                            NoticeType::kSecurity, producer);
  std::byte* at = notice.details.data();
  wire::store_be16(at + 2, violation.slid.value());
  wire::store_be16(at + 4, violation.dlid.value());
  wire::store_be32(at + 6, violation.key);
  wire::store_u8(at + 10, static_cast<std::uint8_t>(violation.sl.value() << 4));
  wire::store_be24(at + 11, violation.source_qp.value());
  wire::store_be24(at + 15, violation.dest_qp.value());
  if (violation.grh) {
    wire::store_gid(at + 18, violation.grh->sgid);
    wire::store_gid(at + 34, violation.grh->dgid);
  }
  return notice;
}

// 0-1 DataValid  2-3 LID1  4-5 LID2  6-7 P_Key  8 SL(4)  9-11 QP1  12 -  13-15 QP2  16-31 GID1
// 32-47 GID2  48-49 SwitchLID  50 PortNo
Notice bad_pkey_at_switch_notice(const KeyViolation& violation, Lid lid, PortNumber port) {
  constexpr std::uint16_t kAllButGids = 0x000F;  // LIDs, P_Key, SL, QPs …
  constexpr std::uint16_t kGids = 0x0030;
  Notice notice =
      notice_of(TrapNumber::kBadPkeyAtSwitch, NoticeType::kSecurity, wire::NodeType::kSwitch);
  std::byte* at = notice.details.data();
  wire::store_be16(at, static_cast<std::uint16_t>(kAllButGids | (violation.grh ? kGids : 0)));
  wire::store_be16(at + 2, violation.slid.value());
  wire::store_be16(at + 4, violation.dlid.value());
  wire::store_be16(at + 6, static_cast<std::uint16_t>(violation.key));
  wire::store_u8(at + 8, static_cast<std::uint8_t>(violation.sl.value() << 4));
  wire::store_be24(at + 9, violation.source_qp.value());
  wire::store_be24(at + 13, violation.dest_qp.value());
  if (violation.grh) {
    wire::store_gid(at + 16, violation.grh->sgid);
    wire::store_gid(at + 32, violation.grh->dgid);
  }
  wire::store_be16(at + 48, lid.value());
  wire::store_u8(at + 50, port);
  return notice;
}

}  // namespace weft::mgmt
