// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"
#include "daemon/lab/lab_hosts.h"
#include "daemon/lan/lan_records.h"
#include "fabric/node.h"

namespace weft::daemon {

// Where a LAN port is: which port of which node, and by what others know it there.
struct LanPlace {
  const LabHosts& hosts;
  LabHosts::Place at{};

  [[nodiscard]] fabric::Node& node() const { return hosts.fabric().node(at.node); }
  [[nodiscard]] wire::PortInfo info() const { return node().port_info(at.port); }
  [[nodiscard]] Gid gid() const { return hosts.gid_of(at); }
  [[nodiscard]] LanView view() const {
    const wire::PortInfo now = info();
    return {.gid_prefix = now.gid_prefix, .lids = {.base = now.lid, .lmc = now.lmc}};
  }
};

}  // namespace weft::daemon
