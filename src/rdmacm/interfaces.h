// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <system_error>
#include <tl/expected.hpp>

#include "base/ids.h"
#include "mgmt/connection_manager.h"

namespace weft::rdmacm {

// An address of this host and the device that has it.
struct LocalAddress {
  mgmt::LocalEnd end;
  Gid gid{};                      // at end.sgid_index: on the wires of IP the address itself
  std::uint32_t path_mtu = 1024;  // bytes: 256, 512, 1024, 2048 or 4096
  std::uint64_t rate_mbps = 0;    // 0: unknown
};

// What the host knows about its IP addresses and routes.
class Interfaces : public mgmt::LocalEnds {
 public:
  // Nothing when the address is not ours. `scope_id` tells link-local addresses apart; 0: any. On a
  // fabric the address may be an IP address or a GID.
  [[nodiscard]] virtual std::optional<LocalAddress> describe(const Gid& address,
                                                             std::uint32_t scope_id) const = 0;
  // The address that packets to `destination` leave from if nobody names one. The error is that of
  // connect(2): network_unreachable, host_unreachable, …
  [[nodiscard]] virtual tl::expected<Gid, std::errc> source_for(const Gid& destination,
                                                                std::uint32_t scope_id) const = 0;
  // The GID of whoever has `address`, which is that of one port; host_unreachable: nobody has;
  // operation_in_progress: not known here, and to be asked for (Routes::find_host). On the wires of
  // IP it is the address itself.
  [[nodiscard]] virtual tl::expected<Gid, std::errc> peer(const Gid& address) const {
    return address;
  }
};

}  // namespace weft::rdmacm
