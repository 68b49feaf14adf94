// SPDX-License-Identifier: Apache-2.0
// How a lab file says which nodes are on the LAN, for all of them and for one:
//
//   lan = true
//   lan = { netns = "{node}", mtu = 9000 }
//   [node.a]
//   lan = false
//   [node.b]
//   lan = { name = "eth0" }   # the rest as for all
#pragma once

#include <optional>
#include <string>

#include "fabric/lab.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

// Changes what holds without it.
[[nodiscard]] Done read_lan(std::optional<LabLan>& lan, const Value& value);

// What the file says for all nodes: nothing, where most of them are not on the LAN.
[[nodiscard]] std::optional<LabLan> common_lan(const Lab& lab);
// What makes `common` what this one is; empty where it is that.
[[nodiscard]] std::string lan_words(const std::optional<LabLan>& lan,
                                    const std::optional<LabLan>& common);

}  // namespace weft::fabric
