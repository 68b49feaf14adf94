// SPDX-License-Identifier: Apache-2.0
// How a lab file says which MPLS labels are around what goes to another site, the outermost first:
//
//   labels = [100016, 300]    # what packets leave with
//   own_labels = [17]         # what they come with, where that is something else
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/lab_value.h"

namespace weft::fabric {

[[nodiscard]] Expected<std::vector<std::uint32_t>> read_labels(const Value& value);

[[nodiscard]] std::string label_words(const std::vector<std::uint32_t>& labels);

}  // namespace weft::fabric
