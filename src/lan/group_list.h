// SPDX-License-Identifier: Apache-2.0
// What a LAN port tells its peers of groups: to which its host wants frames to be sent; whether
// there are other stations behind it; and whether it has joined the fabric's group of LAN ports;
// and which address its host has given the interface. It stands behind a LanHeader of kind kGroups,
// as a frame would:
//
//   0     bit 7: all groups, bit 6: other stations, bit 5: joined, bit 4: an address of its own,
//         bit 3: no channel, bit 2: who hears this is to say his own
//   1     0    2-3  how many addresses of groups there are
//   4-    the interface's own address, if there is one, and then those of groups, 6 bytes each
//
// A port says it again before its time is over; of a port that has not said it, all is wanted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/mac_address.h"
#include "base/time.h"

namespace weft::lan {

struct GroupList {
  static constexpr std::size_t kHead = 4;
  static constexpr std::size_t kMost = 1024;  // addresses; who wants more wants all
  static constexpr Duration kRepeat = 10s;
  static constexpr Duration kLifetime = 35s;  // three of them may be lost

  bool all = true;
  bool bridges = false;     // there are stations behind the port whose addresses tell no LID
  bool joined = false;      // what goes to the fabric's group of LAN ports reaches it
  bool asks = false;        // it knows nothing yet of the port that it says this to
  bool no_channel = false;  // it knows of none to the one that is told this
  // Of the host's interface, one that holds no LID; nothing: it has the one that does.
  std::optional<MacAddress> address{};
  std::vector<MacAddress> groups;  // in order, each once

  friend bool operator==(const GroupList&, const GroupList&) = default;

  [[nodiscard]] bool wants(const MacAddress& group) const;
  // Of what is no list, nothing.
  [[nodiscard]] static std::optional<GroupList> parse(Bytes bytes);
  // Into `out`, which it makes as long as it takes.
  void write(std::vector<std::byte>& out) const;
};

}  // namespace weft::lan
