// SPDX-License-Identifier: Apache-2.0
// The multicast group of the fabric that LAN ports of a subnet have: whoever joins first makes it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "daemon/lab/standing_request.h"
#include "daemon/lan/lan_place.h"
#include "daemon/lan/lan_subnet_counters.h"
#include "daemon/lan/lan_subnet_owner.h"
#include "io/reactor.h"

namespace weft::daemon {

// Link-local and transient, as IBA 4.1.1 has it, with the mark of LAN ports and the P_Key.
inline constexpr Gid kLanGroup{
    std::array<std::uint8_t, 16>{0xFF, 0x12, 0x57, 0x4C, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
inline constexpr QKey kLanGroupQKey{0x574C'0001};

// What the subnet administrator says of who has joined: nothing, if it makes no sense.
[[nodiscard]] std::optional<LanGroup> read_lan_group(Bytes mad);

class LanGroupMember {
 public:
  // All that is given outlives it. When it goes, the port leaves.
  LanGroupMember(const LanPlace& place, LanSubnetCounters& counters, io::Reactor& reactor,
                 LanSubnetOwner& owner);

  // From now on the port is in it whenever it is active and the administrator lets it in. Errors as
  // of mgmt::MadPort::add_agent().
  Expected<void> join();

 private:
  bool take(Bytes mad);
  void lose();

  LanSubnetCounters& counters_;
  LanSubnetOwner& owner_;
  std::optional<LanGroup> in_;
  StandingRequest request_;
};

}  // namespace weft::daemon
