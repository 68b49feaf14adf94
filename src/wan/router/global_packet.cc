// SPDX-License-Identifier: Apache-2.0
#include "wan/router/global_packet.h"

#include "wan/router/group_interest.h"
#include "wire/crc.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::wan {
namespace {

// IBA 4.1.1: the first 10 bits are those of a link-local GID, which routers do not pass on.
bool is_link_local(const wire::Grh& grh) {
  return grh.sgid.is_link_local() || grh.dgid.is_link_local();
}

// IBA 8.3: as many bytes follow the header as it says.
bool is_sound(const wire::Grh& grh, const wire::Lrh& lrh) {
  return grh.ip_version == wire::Grh::kIpVersion && grh.next_header == wire::Grh::kNextHeaderIba &&
         wire::Lrh::kSize + wire::Grh::kSize + grh.payload_length == lrh.packet_bytes();
}

}  // namespace

std::optional<GlobalPacket> GlobalPacket::read(const link::Packet& packet, RouterCounter& flaw) {
  const wire::Lrh lrh = packet.lrh();
  const auto refuse = [&flaw](RouterCounter why) {
    flaw = why;
    return std::nullopt;
  };
  if (lrh.vl.value() == 15) return refuse(RouterCounter::kManagement);
  if (lrh.next_header != wire::Lnh::iba_global) return refuse(RouterCounter::kNoGrh);
  const Bytes rest = packet.header().subspan(wire::Lrh::kSize);
  const auto grh = wire::Grh::parse(rest);
  if (!grh) return refuse(RouterCounter::kBadGrh);
  const auto bth = wire::Bth::parse(rest.subspan(wire::Grh::kSize));
  if (!bth || !is_sound(*grh, lrh)) return refuse(RouterCounter::kBadGrh);
  if (bth->dest_qp == kQp0) return refuse(RouterCounter::kManagement);
  const bool own_group = grh->dgid.is_multicast() && !is_routed_group(grh->dgid);
  if (own_group || grh->sgid.is_multicast()) return refuse(RouterCounter::kMulticast);
  if (is_link_local(*grh)) return refuse(RouterCounter::kLinkLocal);
  return GlobalPacket{.grh = *grh, .bth = *bth};
}

void rewrite_hop_limit(link::Packet& packet, std::uint8_t hops) {
  // The last 8 of these bytes end with the hop limit.
  constexpr std::size_t kEnd = wire::Lrh::kSize + wire::GrhView::kHopLimitByte + 1;
  std::byte* const word = packet.header().data() + kEnd - 8;
  const std::uint64_t before = wire::load_le64(word);
  wire::GrhView(packet.header().subspan(wire::Lrh::kSize)).set_hop_limit(hops);
  if (!packet.sealed) return;
  const std::size_t covered = packet.size() - wire::kVcrcSize;
  const std::uint16_t change = wire::crc16_change(before ^ wire::load_le64(word), covered - kEnd);
  std::byte* const vcrc = packet.trailer().last(wire::kVcrcSize).data();
  wire::store_le16(vcrc, static_cast<std::uint16_t>(wire::load_le16(vcrc) ^ change));
}

}  // namespace weft::wan
