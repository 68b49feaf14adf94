// SPDX-License-Identifier: Apache-2.0
// How a lab file says what packets are marked with on their way to another site:
//
//   dscp = { 0 = 8, 3 = 46 }         # by SL; those that are not named have 0
//   dscp = { 3 = 46, control = 40 }  # and what keeps the tunnel going, where that is not to have
//   48
#pragma once

#include <string>

#include "fabric/lab_extender.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

[[nodiscard]] Expected<LabDscp> read_dscp(const Value& value);

[[nodiscard]] std::string dscp_words(const LabDscp& dscp);

}  // namespace weft::fabric
