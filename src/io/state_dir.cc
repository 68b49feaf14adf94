// SPDX-License-Identifier: Apache-2.0
#include "io/state_dir.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "io/runtime_dir.h"

namespace weft::io {
namespace {

std::string absolute_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string state_home() {
  if (std::string own = absolute_variable("XDG_STATE_HOME"); !own.empty()) return own;
  std::string home = absolute_variable("HOME");
  if (home.empty()) {
    const passwd* const user = getpwuid(geteuid());
    home = user != nullptr ? user->pw_dir : "/";
  }
  return home + "/.local/state";
}

// Those that are missing are for the user alone, as the XDG Base Directory Specification has it.
Expected<void> make_all(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail_errno(errno, "create " + part);
    }
    if (end == std::string::npos) return {};
  }
}

}  // namespace

Expected<std::string> state_directory() {
  const std::string home = state_home();
  if (auto made = make_all(home); !made) return tl::unexpected(made.error());
  std::string own = home + "/weft";
  if (auto made = ensure_private_directory(own); !made) return tl::unexpected(made.error());
  return own;
}

}  // namespace weft::io
