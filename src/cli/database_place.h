// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace weft::cli {

// Where a subnet manager of the lab remembers, if nobody says another place: a file of this name in
// the lab's directory below io::state_directory(), which is made. Errors: it cannot be.
Expected<std::string> usual_database(const std::string& lab, const std::string& file);

}  // namespace weft::cli
