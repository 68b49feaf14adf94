// SPDX-License-Identifier: Apache-2.0
// The extenders of a lab file:
//
//   [extender.edge]
//   ports = 2                        # for links of this lab
//   listen = "192.0.2.1:7471"
//   key = "edge.key"                 # made by `weft extend keygen`; or insecure = true
//
//   [extender.edge.remote.there]
//   address = "198.51.100.1:7471"    # where the extender of that site listens; none: it comes here
//   fingerprint = "SHA256:..."       # of its key; or a file that says it
//
// With mode = "router" it is a router, and its remotes have prefixes = ["fd00:0:0:2::/64"].
#pragma once

#include <string>
#include <vector>

#include "fabric/lab_value.h"

namespace weft::fabric {

// `table`: of all extenders. An extender is a switch or a router besides: the keys are what is said
// of one, and `model` is what it is where nothing is said.
[[nodiscard]] Done add_extenders(LabBuilder& builder, const Value& table,
                                 const Keys<LabNode>& switch_keys, const Keys<LabNode>& router_keys,
                                 const LabNode& model);

// One entry of that table for each extender of the lab, as the file has it: `words` are those of
// its switch or router.
[[nodiscard]] std::string extender_words(const LabExtender& extender,
                                         std::vector<std::string> words);

}  // namespace weft::fabric
