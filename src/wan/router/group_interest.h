// SPDX-License-Identifier: Apache-2.0
// What the router of a site tells that of another: to which multicast groups it wants packets to be
// sent. A raw packet (IBA 5.3) that does not leave the link between the two:
//
//   0-7   LRH: LNH 0, DLID permissive      8-11  raw header: EtherType 0x88B6, IEEE 802's second
//   12    version: 1                             one for local experiments
//   13    how long it holds, s; 0: these groups are not wanted any more
//   14-15 how many MGIDs follow, at most kMost
//   16-   MGIDs, 16 bytes each, and the VCRC
//
// A site repeats what it wants before its time is over; what it does not repeat is forgotten.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::wan {

struct GroupInterest {
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::uint16_t kEtherType = 0x88B6;
  // So many fit into a packet of every MTU with which programs use groups, 1024 bytes and more.
  static constexpr std::size_t kMost = 60;

  std::chrono::seconds hold{};  // 0 to 255
  std::vector<Gid> groups;      // at most kMost
  friend bool operator==(const GroupInterest&, const GroupInterest&) = default;

  // LRH through VCRC, sealed.
  [[nodiscard]] std::vector<std::byte> write() const;
  // Of such a packet. Nothing: a length or version that cannot be, or a group that is not routed.
  [[nodiscard]] static std::optional<GroupInterest> parse(Bytes packet);
};

// Whether it is one, whatever it says: a raw packet of that EtherType, from its LRH on.
[[nodiscard]] bool is_group_interest(Bytes packet);

// A multicast GID whose packets go beyond a subnet: of site-local, organization-local or global
// scope (IBA 4.1.1).
[[nodiscard]] bool is_routed_group(const Gid& mgid);

}  // namespace weft::wan
