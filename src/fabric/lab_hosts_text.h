// SPDX-License-Identifier: Apache-2.0
// Hosts that are not of the lab, as /etc/hosts has those that are not of the machine:
//
//   [hosts]
//   "10.254.128.1" = "fd00:0:0:2:200:ff:fe00:e01"
#pragma once

#include <string>

#include "fabric/lab.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

// `table`: of all of them.
[[nodiscard]] Done add_hosts(LabBuilder& builder, const Value& table);

// The table as the file has it; empty where the lab knows none.
[[nodiscard]] std::string hosts_text(const Lab& lab);

}  // namespace weft::fabric
