// SPDX-License-Identifier: Apache-2.0
// How a lab file says that what is lost on the way to another site is to be made again there:
//
//   fec = "10+2"    # behind every ten frames two more, so that any two of the twelve may be lost
#pragma once

#include <string>

#include "fabric/lab_extender.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

[[nodiscard]] Expected<LabFec> read_fec(const Value& value);

[[nodiscard]] std::string fec_words(const LabFec& fec);

}  // namespace weft::fabric
