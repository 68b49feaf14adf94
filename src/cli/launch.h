// SPDX-License-Identifier: Apache-2.0
// The environment in which a program finds Weft's libraries instead of the system's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/config.h"

namespace weft::cli {

// Variables to set, by name.
using Environment = std::map<std::string, std::string>;

// Where the drop-in libraries are: WEFT_LIBDIR, or a directory beside this executable's own, both
// in the build tree and where it is installed. ENOENT names the places that were tried.
Expected<std::string> find_dropin_directory();

// LD_LIBRARY_PATH and LD_PRELOAD with the libraries of `directory` before what is set already. A
// sanitizer's runtime that they need goes first, where it insists on being.
// On a node of a lab, libibumad is one of them.
Expected<Environment> loader_environment(const std::string& directory, bool on_node = false);

// What a program needs to find the host agent, or to start it: WEFT_AGENT, a program beside this
// one, and WEFT_RUNTIME_DIR. Empty when it is not installed.
Environment agent_environment(const std::string& runtime_directory);

// How to read the capture that this configuration names: a command line for a shell.
std::string tshark_command(const host::Config& config);

}  // namespace weft::cli
