// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "fabric/node.h"
#include "mgmt/mad/mad_client.h"

namespace weft::daemon {

// Sends a request to the subnet administrator of a port; its `to` is set here.
// network_unreachable: the port is not Active, or nobody has told it where the administrator is.
// Otherwise as mgmt::MadPort::send().
Expected<void> send_to_administrator(fabric::Node& node, mgmt::PortNumber port, mgmt::AgentId agent,
                                     mgmt::MadRequest request);

}  // namespace weft::daemon
