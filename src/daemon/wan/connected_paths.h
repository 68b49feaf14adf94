// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/entropy.h"
#include "daemon/wan/remote_path.h"
#include "fabric/lab_extender.h"
#include "wan/connected_path.h"

namespace weft::daemon {

// What is between a remote's ways, the sockets and interfaces that `paths` are, and all that goes
// there: of each way the connection that its encapsulation names, as that of "dccp/ipv6". Empty:
// it names none. `paths` and `entropy` outlive them.
[[nodiscard]] std::vector<std::unique_ptr<wan::ConnectedPath>> connect_ways(
    const std::vector<RemotePath*>& paths, const fabric::LabRemote& remote,
    const fabric::LabExtender& extender, Entropy& entropy);

}  // namespace weft::daemon
