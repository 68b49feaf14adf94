// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/site_key.h"
#include "fabric/lab.h"

namespace weft::cli {

// The part of a lab that has its extenders: that which is asked for, or the only one that has any.
// Errors say what stands against it, and what to do.
Expected<std::string> part_of_extenders(const fabric::Lab& lab, const std::string& file,
                                        const std::string& wanted);

// `weft extend`, whatever of it: with a word that looks like a file, the extenders of that lab
// file.
int extend_command(const ExtendOptions& plan, const SiteKeyOptions& key, const UpOptions& site);

}  // namespace weft::cli
