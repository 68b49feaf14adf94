// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_doors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/runtime_dir.h"
#include "io/user_names.h"

namespace weft::daemon {
namespace {

namespace fs = std::filesystem;
using fabric::LabUsers;

constexpr const char* kLock = "lock";

Expected<Admission> admission_of(const LabUsers& users, std::string_view right) {
  switch (users.who) {
    case LabUsers::Who::kOwner:
      return Admission{};
    case LabUsers::Who::kEveryone:
      return Admission{.who = Admission::Who::kEveryone, .group = 0};
    case LabUsers::Who::kGroup:
      break;
  }
  const auto group = io::find_group(users.group);
  if (!group) {
    return fail(std::errc::no_such_file_or_directory,
                fmt::format("access.{}: there is no group {} on this machine", right, users.group));
  }
  return Admission{.who = Admission::Who::kGroup, .group = *group};
}

// Whatever this process's umask. What is in it is found by those who know its name.
Expected<void> make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, "create " + path);
  if (chmod(path.c_str(), 0711) != 0) return fail_errno(errno, "chmod " + path);
  return {};
}

Expected<io::UniqueFd> lock_directory(const std::string& path, const LabPaths& paths) {
  const std::string file = path + "/" + kLock;
  io::UniqueFd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail_errno(errno, file);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return fail_errno(errno, file);
  return fail(std::errc::device_or_resource_busy,
              fmt::format("another lab {} of this user lets others in: choose another name with "
                          "--name",
                          paths.title()));
}

void clear(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().filename() != kLock) fs::remove(at->path(), ignored);
  }
}

}  // namespace

Expected<LabDoors> open_doors(const LabPaths& paths, const fabric::LabAccess& access) {
  const bool alone = access == fabric::LabAccess{};
  if (alone) return LabDoors{};
  LabDoors out;
  const bool as_managers = access.attach.who == LabUsers::Who::kOwner;
  const auto attach = admission_of(as_managers ? access.manage : access.attach, "attach");
  const auto manage = admission_of(access.manage, "manage");
  const auto administer = admission_of(access.administer, "administer");
  for (const auto* admission : {&attach, &manage, &administer}) {
    if (!*admission) return tl::unexpected(admission->error());
  }
  const auto shared = io::shared_directory();
  if (!shared) return tl::unexpected(shared.error());
  const LabPaths theirs = paths_below(*shared, paths.name, paths.part);
  out.directory = theirs.directory;
  if (auto made = make_directory(out.directory); !made) return tl::unexpected(made.error());
  auto lock = lock_directory(out.directory, paths);
  if (!lock) return tl::unexpected(lock.error());
  out.lock = std::move(*lock);
  clear(out.directory);
  const auto let_in = [](std::optional<Entrance>& door, const std::string& path,
                         const Admission& who) {
    if (who.who != Admission::Who::kOwner) door = Entrance{path, who};
  };
  let_in(out.attach, theirs.attach, *attach);
  let_in(out.rdma_cm, theirs.rdma_cm, *attach);
  let_in(out.mads, theirs.mads, *manage);
  let_in(out.admin, theirs.admin, *administer);
  out.manage = *manage;
  return out;
}

}  // namespace weft::daemon
