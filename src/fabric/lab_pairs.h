// SPDX-License-Identifier: Apache-2.0
// Pairs of data services that are less than a pair: one fault takes both members of it, for they
// are to be at different switches and adapters; or the two are in different parts of the lab, and
// cannot tell each other what is connected (docs/data-services.md).
#pragma once

#include <string>
#include <vector>

#include "fabric/lab.h"

namespace weft::fabric {

// A sentence for each such pair of a lab whose links have their ports, in the order of its file.
[[nodiscard]] std::vector<std::string> pair_notes(const Lab& lab);

}  // namespace weft::fabric
