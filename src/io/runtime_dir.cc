// SPDX-License-Identifier: Apache-2.0
#include "io/runtime_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/unique_fd.h"

namespace weft::io {
namespace {

constexpr int kSpareNames = 9;
constexpr std::string_view kShared = "weft-labs-";

bool is_own_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

Expected<void> check_private_directory(const std::string& path) {
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

std::vector<std::string> shared_directory_candidates(uid_t owner) {
  std::vector<std::string> out{fmt::format("/tmp/{}{}", kShared, owner)};
  for (int n = 1; n <= kSpareNames; ++n)
    out.push_back(fmt::format("{}-{}", out.front(), n));
  return out;
}

Expected<void> check_shared_directory(const std::string& path, uid_t owner) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return fail_errno(errno, "stat " + path);
  const bool is_his = S_ISDIR(status.st_mode) && status.st_uid == owner;
  if (is_his && (status.st_mode & 0022) == 0) return {};
  return fail(std::errc::permission_denied,
              fmt::format("{} is no directory that user {} alone can write to", path, owner));
}

Expected<void> ensure_shared_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, "create " + path);
  if (auto ok = check_shared_directory(path, geteuid()); !ok) return ok;
  if (chmod(path.c_str(), 0755) != 0) return fail_errno(errno, "chmod " + path);
  return {};
}

}  // namespace

Expected<void> ensure_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, "create " + path);
  return check_private_directory(path);
}

std::vector<std::string> runtime_directory_candidates() {
  std::vector<std::string> out;
  const auto add_below = [&](const std::string& parent) {
    std::string path = parent + "/weft";
    if (is_own_directory(parent) && (out.empty() || out[0] != path)) out.push_back(std::move(path));
  };
  if (const char* base = std::getenv("XDG_RUNTIME_DIR"); base != nullptr && base[0] == '/') {
    add_below(base);
  }
  add_below(fmt::format("/run/user/{}", geteuid()));
  const std::string last_resort = fmt::format("/tmp/weft-{}", geteuid());
  out.push_back(last_resort);
  for (int n = 1; n <= kSpareNames; ++n)
    out.push_back(fmt::format("{}-{}", last_resort, n));
  return out;
}

Expected<std::string> runtime_directory() {
  std::optional<Error> first;
  for (std::string& path : runtime_directory_candidates()) {
    auto ok = ensure_private_directory(path);
    if (ok && faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      ok = fail_errno(errno, "write to " + path);
    }
    if (ok) return std::move(path);
    if (!first) first = ok.error();
  }
  return tl::unexpected(*first);
}

std::vector<std::string> runtime_directories() {
  std::vector<std::string> out = runtime_directory_candidates();
  std::erase_if(out, [](const std::string& path) { return !check_private_directory(path); });
  return out;
}

Expected<std::string> shared_directory() {
  std::optional<Error> first;
  for (std::string& path : shared_directory_candidates(geteuid())) {
    auto ok = ensure_shared_directory(path);
    if (ok) return std::move(path);
    if (!first) first = ok.error();
  }
  return tl::unexpected(*first);
}

std::vector<std::string> shared_directories(uid_t owner) {
  std::vector<std::string> out = shared_directory_candidates(owner);
  std::erase_if(out, [owner](const std::string& path) {
    return !check_shared_directory(path, owner).has_value();
  });
  return out;
}

std::vector<uid_t> sharing_users() {
  std::vector<uid_t> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/tmp", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kShared)) continue;
    uid_t user = 0;
    const char* const last = name.data() + name.size();
    const auto [stop, wrong] = std::from_chars(name.data() + kShared.size(), last, user);
    const bool is_number = wrong == std::errc{} && (stop == last || *stop == '-');
    if (is_number && !shared_directories(user).empty()) out.push_back(user);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace weft::io
