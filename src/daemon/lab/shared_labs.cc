// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/shared_labs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "io/runtime_dir.h"
#include "io/unix_socket.h"
#include "io/user_names.h"

namespace weft::daemon {
namespace {

// A lab that is stopped takes nobody for the moment, but it is there.
constexpr Duration kSharedLabsPatience = 1ms;
constexpr std::size_t kSharedLabsMostNames = 8;

// Whether somebody listens, as far as this user can tell: files outlive a lab that was killed.
bool is_answered(const std::string& socket) {
  const auto connection = io::connect_unix(socket, io::UnixKind::kSeqPacket, kSharedLabsPatience);
  return connection || connection.error().code == std::errc::permission_denied ||
         connection.error().code == std::errc::timed_out;
}

bool is_served(const LabPaths& lab) {
  return is_answered(lab.attach) || is_answered(lab.mads) || is_answered(lab.admin);
}

// Running or not.
std::vector<LabPaths> labs_of(uid_t owner) {
  std::vector<LabPaths> out;
  for (const std::string& shared : io::shared_directories(owner)) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(shared, error), end; !error && at != end;
         at.increment(error)) {
      auto lab = paths_from(shared, at->path().filename().string());
      if (!lab) continue;
      lab->owner = io::user_name(owner);
      out.push_back(std::move(*lab));
    }
  }
  std::sort(out.begin(), out.end(), [](const LabPaths& a, const LabPaths& b) {
    return std::tie(a.name, a.part) < std::tie(b.name, b.part);
  });
  return out;
}

}  // namespace

Expected<std::vector<LabPaths>> find_shared_lab(std::string_view name) {
  const std::size_t slash = name.find('/');
  const std::string_view lab = name.substr(std::min(slash, name.size() - 1) + 1);
  const auto owner = io::find_user(std::string(name.substr(0, slash)));
  if (!owner) {
    return fail(std::errc::no_such_file_or_directory,
                fmt::format("lab {}: there is no user {}", name, name.substr(0, slash)));
  }
  std::vector<LabPaths> out = labs_of(*owner);
  std::erase_if(out, [lab](const LabPaths& each) {
    const bool is_meant = each.name == lab || fmt::format("{}@{}", each.name, each.part) == lab;
    return !is_meant || !is_served(each);
  });
  if (!out.empty()) return out;
  return fail(std::errc::no_such_file_or_directory,
              fmt::format("lab {} does not run, or lets in nobody but its owner, who can change "
                          "that: weft up --access attach=everyone",
                          name));
}

// Nobody is asked: whoever else is on the machine may have put there what he likes.
std::vector<std::string> shared_lab_names() {
  std::vector<std::string> out;
  for (const uid_t owner : io::sharing_users()) {
    if (owner == geteuid()) continue;
    for (const LabPaths& lab : labs_of(owner)) {
      std::error_code error;
      if (out.size() < kSharedLabsMostNames && std::filesystem::is_socket(lab.attach, error)) {
        out.push_back(lab.title());
      }
    }
  }
  return out;
}

}  // namespace weft::daemon
