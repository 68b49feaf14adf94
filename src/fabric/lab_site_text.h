// SPDX-License-Identifier: Apache-2.0
// How a lab file says where sites are reached, of which each may have several addresses:
//
//   listen = ["192.0.2.1:7471", "[2001:db8::1]:7471"]    # of an extender
//   address = "198.51.100.1:7471"                        # of a remote
#pragma once

#include <string>
#include <vector>

#include "fabric/lab_extender.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

[[nodiscard]] Done read_listen(LabExtender& extender, const Value& value);

// One, or several by as many ways.
[[nodiscard]] Done read_address(LabRemote& remote, const Value& value);
// How many ways, where there is no address.
[[nodiscard]] Done read_paths(LabRemote& remote, const Value& value);

// One address, or a list of several.
[[nodiscard]] std::string address_words(const PartAddress& first,
                                        const std::vector<PartAddress>& more);

}  // namespace weft::fabric
