// SPDX-License-Identifier: Apache-2.0
#include "io/runtime_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "io/unique_fd.h"

namespace weft::io {
namespace {

bool is_own_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

}  // namespace

Expected<void> ensure_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, "create " + path);
  // What is checked is what was opened: nobody can swap it in between.
  const UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail_errno(errno, "open directory " + path);
  struct stat status {};
  if (fstat(directory.get(), &status) != 0) return fail_errno(errno, "stat " + path);
  if (status.st_uid != geteuid()) {
    return fail(std::errc::permission_denied, fmt::format("{} belongs to user {}, not to user {}",
                                                          path, status.st_uid, geteuid()));
  }
  if ((status.st_mode & 0077) != 0) {
    return fail(std::errc::permission_denied,
                fmt::format("{} is open to other users (mode {:04o}): chmod 700 it", path,
                            status.st_mode & 07777));
  }
  return {};
}

Expected<std::string> runtime_directory() {
  std::string path = fmt::format("/tmp/weft-{}", geteuid());
  if (const char* base = std::getenv("XDG_RUNTIME_DIR");
      base != nullptr && base[0] == '/' && is_own_directory(base)) {
    path = std::string(base) + "/weft";
  }
  if (auto ok = ensure_private_directory(path); !ok) return tl::unexpected(ok.error());
  return path;
}

}  // namespace weft::io
