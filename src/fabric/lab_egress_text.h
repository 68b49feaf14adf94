// SPDX-License-Identifier: Apache-2.0
// How a lab file says on which lanes packets leave at another site:
//
//   egress = { 2 = 9, 3 = 9 }   # what leaves here on lanes 2 and 3 does so there on lane 9
#pragma once

#include <string>

#include "fabric/lab_extender.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

[[nodiscard]] Expected<LabEgress> read_egress(const Value& value);

[[nodiscard]] std::string egress_words(const LabEgress& egress);

}  // namespace weft::fabric
