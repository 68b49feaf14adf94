// SPDX-License-Identifier: Apache-2.0
#include "lan/group_list.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "lan/lan_address.h"
#include "wire/endian.h"

namespace weft::lan {
namespace {

constexpr std::uint8_t kAll = 0x80;
constexpr std::uint8_t kGroupListBridges = 0x40;
constexpr std::uint8_t kJoined = 0x20;
constexpr std::uint8_t kAddress = 0x10;
constexpr std::uint8_t kAsks = 0x04;
constexpr std::uint8_t kNoChannel = 0x08;
constexpr std::size_t kMac = std::tuple_size_v<MacAddress>;

MacAddress load(const std::byte* at) {
  MacAddress mac;
  std::memcpy(mac.data(), at, mac.size());
  return mac;
}

}  // namespace

bool GroupList::wants(const MacAddress& group) const {
  return all || std::ranges::binary_search(groups, group);
}

std::optional<GroupList> GroupList::parse(Bytes bytes) {
  if (bytes.size() < kHead) return std::nullopt;
  const std::size_t count = wire::load_be16(bytes.data() + 2);
  const std::uint8_t flags = wire::load_u8(bytes.data());
  const std::size_t own = (flags & kAddress) != 0 ? kMac : 0;
  if (count > kMost || bytes.size() != kHead + own + count * kMac) return std::nullopt;
  GroupList out{.all = (flags & kAll) != 0,
                .bridges = (flags & kGroupListBridges) != 0,
                .joined = (flags & kJoined) != 0,
                .asks = (flags & kAsks) != 0,
                .no_channel = (flags & kNoChannel) != 0,
                .groups = {}};
  if (own != 0) {
    out.address = load(bytes.data() + kHead);
    if (kind_of(*out.address) != MacKind::kForeign) return std::nullopt;
  }
  const std::byte* const listed = bytes.data() + kHead + own;
  out.groups.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    MacAddress& group = out.groups[i];
    group = load(listed + i * kMac);
    const bool in_order = i == 0 || out.groups[i - 1] < group;
    if ((group[0] & 1) == 0 || !in_order) return std::nullopt;
  }
  return out;
}

void GroupList::write(std::vector<std::byte>& out) const {
  assert(groups.size() <= kMost);
  const std::size_t own = address ? kMac : 0;
  out.resize(kHead + own + groups.size() * kMac);
  const int flags = (all ? kAll : 0) | (bridges ? kGroupListBridges : 0) | (joined ? kJoined : 0) |
                    (address ? kAddress : 0) | (asks ? kAsks : 0) | (no_channel ? kNoChannel : 0);
  wire::store_u8(out.data(), static_cast<std::uint8_t>(flags));
  wire::store_u8(out.data() + 1, 0);
  wire::store_be16(out.data() + 2, static_cast<std::uint16_t>(groups.size()));
  if (address) std::memcpy(out.data() + kHead, address->data(), kMac);
  for (std::size_t i = 0; i < groups.size(); ++i)
    std::memcpy(out.data() + kHead + own + i * kMac, groups[i].data(), kMac);
}

}  // namespace weft::lan
