// SPDX-License-Identifier: Apache-2.0
#include "lan/spanning_tree.h"

#include <algorithm>

#include "wire/endian.h"

namespace weft::lan {
namespace {

constexpr MacAddress kSpanningTreeBridges{0x01, 0x80, 0xC2, 0, 0, 0};  // IEEE 802.1Q, table 8-1
constexpr std::uint16_t kLeastType = 0x0600;                           // below it is a length
// Of LLC (IEEE 802.2), in front of each: both SAPs of spanning trees, and unnumbered information.
constexpr std::uint32_t kLlc = 0x424203;
constexpr std::size_t kLlcSize = 3;
constexpr std::size_t kNotificationSize = 4;

enum Type : std::uint8_t { kConfiguration = 0, kRapid = 2, kNotification = 0x80 };
constexpr std::uint8_t kChange = 1;  // among the flags

}  // namespace

bool is_link_local(const MacAddress& group) {
  return std::equal(kSpanningTreeBridges.begin(), kSpanningTreeBridges.end() - 1, group.begin()) &&
         group.back() < 0x10;
}

bool is_topology_change(const EthernetFrame& frame) {
  if (frame.destination != kSpanningTreeBridges || frame.type >= kLeastType) return false;
  if (frame.payload.size() < kLlcSize + kNotificationSize) return false;
  if (wire::load_be24(frame.payload.data()) != kLlc) return false;
  const Bytes bpdu = frame.payload.subspan(kLlcSize);
  if (wire::load_be16(bpdu.data()) != 0) return false;  // the protocol
  const std::uint8_t type = wire::load_u8(bpdu.data() + 3);
  if (type == kNotification) return true;
  if (type != kConfiguration && type != kRapid) return false;
  return bpdu.size() > kNotificationSize && (wire::load_u8(bpdu.data() + 4) & kChange) != 0;
}

}  // namespace weft::lan
