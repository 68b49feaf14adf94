// SPDX-License-Identifier: Apache-2.0
// Where sysfs is and what one of its files says. Under `weft run` the shim answers for the paths of
// InfiniBand devices; here they are paths like any other.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "io/unique_fd.h"
#include "verbs/abi.h"
#include "verbs/guard.h"

using namespace weft;
using namespace weft::verbs;

namespace {

std::string sysfs_path() {
  const char* chosen = std::getenv("SYSFS_PATH");
  std::string path = chosen != nullptr && *chosen != '\0' ? chosen : "/sys";
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

}  // namespace

const char* ibv_get_sysfs_path(void) {
  static const std::string& path = *new std::string(sysfs_path());
  return path.c_str();
}

// The length of what the file holds without its last newline, or -1 and errno. The text is
// terminated when there is room for that.
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, size_t size) {
  int length = -1;
  guard_errno([&] {
    const std::string path = std::string(directory) + "/" + file;
    const io::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return errno;
    const ssize_t got = ::read(fd.get(), buffer, size);
    if (got < 0) return errno;
    std::string_view text(buffer, static_cast<std::size_t>(got));
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.size() < size) buffer[text.size()] = '\0';
    length = static_cast<int>(text.size());
    return 0;
  });
  return length;
}
