// SPDX-License-Identifier: Apache-2.0
#include "daemon/agent_path.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

namespace weft::daemon {

Expected<AgentPaths> agent_paths(const std::string& directory) {
  constexpr const char* kNamespace = "/proc/self/ns/net";
  struct stat status {};
  if (stat(kNamespace, &status) != 0) return fail_errno(errno, kNamespace);
  const std::string stem = fmt::format("{}/agent-{}", directory, status.st_ino);
  return AgentPaths{stem + ".sock", stem + ".lock"};
}

}  // namespace weft::daemon
