// SPDX-License-Identifier: Apache-2.0
// Labs of other users that let this one in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/lab/lab_paths.h"

namespace weft::daemon {

// "OWNER/LAB", or "OWNER/LAB@PART": OWNER is a user's name or number. Of a lab in parts all that
// run here, or the one that is named. Never chosen without a name: a lab sees all that its programs
// send. no_such_file_or_directory: there is none, or it lets nobody else in.
Expected<std::vector<LabPaths>> find_shared_lab(std::string_view name);

// What some of them are called, for people: "alice/pair". Perhaps not all of these run.
std::vector<std::string> shared_lab_names();

}  // namespace weft::daemon
