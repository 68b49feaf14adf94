// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/administrator_way.h"

#include "hca/types.h"
#include "io/clock.h"

namespace weft::daemon {

Expected<void> send_to_administrator(fabric::Node& node, mgmt::PortNumber port, mgmt::AgentId agent,
                                     mgmt::MadRequest request) {
  const wire::PortInfo info = node.port_info(port);
  if (info.state != wire::PortState::kActive || !hca::is_unicast(info.master_sm_lid)) {
    return fail(std::errc::network_unreachable, "the port knows of no subnet administrator");
  }
  request.to = {.lid = info.master_sm_lid, .sl = info.master_sm_sl, .qpn = kQp1, .qkey = kGsiQKey};
  const auto sent = node.management().mad_port(port).send(agent, request, io::now());
  node.management_used();
  return sent;
}

}  // namespace weft::daemon
