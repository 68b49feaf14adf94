// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "base/bytes.h"
#include "base/mac_address.h"
#include "base/time.h"

namespace weft::lan {

// Frames that ask a host for all groups that it wants: general queries of IGMPv3 (RFC 3376, 4.1)
// and MLDv2 (RFC 3810, 5.1). They are for the host behind a LAN port only. The first comes from
// nobody, as those of switches that listen do (RFC 4541, 2.1.1), so that no router takes it for
// another; the second must come from some address of the link.
class GroupQueries {
 public:
  // From this address, for answers within `response`, 100 ms to 10 s.
  GroupQueries(const MacAddress& from, Duration response);
  [[nodiscard]] Bytes igmp() const { return igmp_; }
  [[nodiscard]] Bytes mld() const { return mld_; }

 private:
  std::array<std::byte, 14 + 24 + 12> igmp_{};
  std::array<std::byte, 14 + 40 + 8 + 28> mld_{};
};

// A frame that says that there is a multicast router: a Multicast Router Advertisement (RFC 4286,
// 4). Bridges and switches that listen hand on what is for groups, and reports, to where it comes
// from; hosts do not take it, and no router leaves the link to it as it would to one that asks.
class GroupAdvertisement {
 public:
  explicit GroupAdvertisement(const MacAddress& from);
  [[nodiscard]] Bytes igmp() const { return igmp_; }

 private:
  std::array<std::byte, 14 + 24 + 8> igmp_{};
};

}  // namespace weft::lan
