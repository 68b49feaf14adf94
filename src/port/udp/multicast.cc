// SPDX-License-Identifier: Apache-2.0
#include "port/udp/multicast.h"

#include <algorithm>
#include <array>

namespace weft::port {

Gid multicast_group(const Gid& mgid) {
  static constexpr std::array<std::uint8_t, 12> kEmbedded{0xFF, 0x0E, 0, 0, 0,    0,
                                                          0,    0,    0, 0, 0xFF, 0xFF};
  const auto& bytes = mgid.bytes();
  const bool embeds_ipv4 =
      std::equal(kEmbedded.begin(), kEmbedded.end(), bytes.begin()) && (bytes[12] & 0xF0) == 0xE0;
  return embeds_ipv4 ? Gid::from_ipv4(mgid.ipv4()) : mgid;
}

}  // namespace weft::port
