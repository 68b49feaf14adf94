// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace weft::daemon {

// Where the agent of this user and network namespace is found, in the runtime directory
// `directory`: agents of different namespaces are different hosts to each other.
struct AgentPaths {
  std::string socket;  // agent-<inode of the namespace>.sock
  std::string lock;    // held while an agent runs or one starts
};
Expected<AgentPaths> agent_paths(const std::string& directory);

}  // namespace weft::daemon
