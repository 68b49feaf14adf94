// SPDX-License-Identifier: Apache-2.0
#include "cli/sysroot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/device_attributes.h"
#include "io/unique_fd.h"
#include "verbs/sysfs_tree.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "sysroot-";
constexpr const char* kLock = "in-use";
// High enough to be in nobody's way, low enough for any limit that lets a program run.
constexpr int kHighestDescriptor = 1000;
constexpr int kLowestDescriptor = 64;

io::UniqueFd lock_of(const fs::path& tree, int flags) {
  return io::UniqueFd(open((tree / kLock).c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

void remove_unused(const fs::path& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    // A tree without a lock is one that somebody is just removing.
    const io::UniqueFd lock = lock_of(entry.path(), O_RDONLY);
    if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

// A duplicate that the next program inherits, at a number that it hardly uses itself.
Expected<void> bequeath(const io::UniqueFd& lock) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto most = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kHighestDescriptor));
  const int wanted = std::max(most - 1, std::min(most - 1, kLowestDescriptor));
  if (fcntl(lock.get(), F_DUPFD, wanted) < 0) return fail_errno(errno, "a descriptor for the lock");
  return {};
}

}  // namespace

Expected<std::string> create_sysroot(
    const std::string& directory, const std::function<Expected<void>(const std::string&)>& write) {
  remove_unused(directory);
  // It gets the name by which others clean up only once it is locked.
  std::string fresh = fmt::format("{}/new-{}XXXXXX", directory, kPrefix);
  if (mkdtemp(fresh.data()) == nullptr) return fail_errno(errno, fresh);
  const io::UniqueFd lock = lock_of(fresh, O_RDWR | O_CREAT);
  if (!lock || flock(lock.get(), LOCK_SH | LOCK_NB) != 0) return fail_errno(errno, fresh);
  const std::string tree =
      fmt::format("{}/{}{}", directory, kPrefix, fresh.substr(fresh.size() - 6));
  if (rename(fresh.c_str(), tree.c_str()) != 0) return fail_errno(errno, tree);
  if (const auto done = bequeath(lock); !done) return tl::unexpected(done.error());

  if (const auto written = write(tree); !written) return tl::unexpected(written.error());
  return tree;
}

Expected<void> write_devices(const std::string& tree, const host::Config& config,
                             const std::vector<host::DeviceInfo>& devices) {
  const auto described = read_devices(config, devices);
  if (!described) return tl::unexpected(described.error());
  std::vector<verbs::TreeDevice> shown;
  for (const Device& device : *described)
    shown.push_back({device.info, device.port});
  return verbs::write_sysfs_tree(tree, shown);
}

}  // namespace weft::cli
