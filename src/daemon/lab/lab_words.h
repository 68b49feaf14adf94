// SPDX-License-Identifier: Apache-2.0
// Questions to a subnet manager in the words of a lab file: end ports by the names of its nodes,
// rules for paths as [[policy]] has them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "daemon/lab/managed_subnet.h"
#include "fabric/lab.h"

namespace weft::daemon {

// ManagedSubnet::answer(), and {"what": "policy", "action": "add"} besides. Errors: what the rule
// names is not in the lab; those of ManagedSubnet.
Expected<nlohmann::json> answer_in_words_of(const fabric::Lab& lab, ManagedSubnet& subnet,
                                            nlohmann::json request);

}  // namespace weft::daemon
