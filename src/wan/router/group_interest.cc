// SPDX-License-Identifier: Apache-2.0
#include "wan/router/group_interest.h"

#include <algorithm>
#include <cassert>

#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"
#include "wire/raw_header.h"
#include "wire/sm/smp.h"

namespace weft::wan {
namespace {

constexpr std::size_t kGroupInterestBody = wire::Lrh::kSize + wire::RawHeader::kSize;
constexpr std::size_t kGroupInterestGroups = kGroupInterestBody + 4;
constexpr std::size_t kGidSize = 16;

}  // namespace

bool is_routed_group(const Gid& mgid) {
  const auto& bytes = mgid.bytes();
  const unsigned scope = bytes[1] & 0xF;
  return bytes[0] == 0xFF && (scope == 5 || scope == 8 || scope == 0xE);
}

bool is_group_interest(Bytes packet) {
  const auto lrh = wire::Lrh::parse(packet);
  if (!lrh || lrh->next_header != wire::Lnh::raw) return false;
  const auto raw = wire::RawHeader::parse(packet.subspan(wire::Lrh::kSize));
  return raw && raw->ether_type == GroupInterest::kEtherType;
}

std::vector<std::byte> GroupInterest::write() const {
  assert(groups.size() <= kMost && hold.count() >= 0 && hold.count() <= 255);
  const std::size_t size = kGroupInterestGroups + groups.size() * kGidSize;
  std::vector<std::byte> out(size + wire::kVcrcSize);
  wire::Lrh{.next_header = wire::Lnh::raw,
            .dlid = wire::kPermissiveLid,
            .packet_words = static_cast<std::uint16_t>(size / 4),
            .slid = wire::kPermissiveLid}
      .write(out);
  wire::RawHeader{.ether_type = kEtherType}.write(MutableBytes(out).subspan(wire::Lrh::kSize));
  wire::store_u8(out.data() + kGroupInterestBody, kVersion);
  wire::store_u8(out.data() + kGroupInterestBody + 1, static_cast<std::uint8_t>(hold.count()));
  wire::store_be16(out.data() + kGroupInterestBody + 2, static_cast<std::uint16_t>(groups.size()));
  for (std::size_t i = 0; i < groups.size(); ++i)
    wire::store_gid(out.data() + kGroupInterestGroups + i * kGidSize, groups[i]);
  wire::seal_link_packet(out);
  return out;
}

std::optional<GroupInterest> GroupInterest::parse(Bytes packet) {
  if (!is_group_interest(packet) || packet.size() < kGroupInterestGroups + wire::kVcrcSize)
    return std::nullopt;
  const std::byte* const at = packet.data() + kGroupInterestBody;
  const std::size_t count = wire::load_be16(at + 2);
  if (wire::load_u8(at) != kVersion || count > kMost ||
      packet.size() != kGroupInterestGroups + count * kGidSize + wire::kVcrcSize) {
    return std::nullopt;
  }
  GroupInterest out{.hold = std::chrono::seconds(wire::load_u8(at + 1)), .groups = {}};
  for (std::size_t i = 0; i < count; ++i)
    out.groups.push_back(wire::load_gid(packet.data() + kGroupInterestGroups + i * kGidSize));
  return std::ranges::all_of(out.groups, is_routed_group) ? std::optional(std::move(out))
                                                          : std::nullopt;
}

}  // namespace weft::wan
