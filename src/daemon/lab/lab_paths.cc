// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/runtime_dir.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::string_view kLabs = "/labs";

bool may_be_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), may_be_in_name);
}

bool is_running(const LabPaths& lab) {
  const io::UniqueFd lock(open(lab.lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Expected<LabPaths> lab_paths(const std::string& runtime_directory, std::string_view name) {
  if (!is_name(name)) {
    return fail(
        std::errc::invalid_argument,
        fmt::format("lab name '{}': 1 to {} letters, digits, '.', '_' and '-', the first no "
                    "'.'",
                    name, kLongestName));
  }
  const std::string directory = fmt::format("{}{}/{}", runtime_directory, kLabs, name);
  return LabPaths{.name = std::string(name),
                  .directory = directory,
                  .lock = directory + "/lock",
                  .attach = directory + "/attach",
                  .mads = directory + "/mads",
                  .rdma_cm = directory + "/rdma_cm",
                  .admin = directory + "/admin"};
}

std::vector<LabPaths> running_labs(const std::vector<std::string>& runtime_directories) {
  std::vector<LabPaths> out;
  for (const std::string& runtime : runtime_directories) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(runtime + std::string(kLabs), error), end;
         !error && at != end; at.increment(error)) {
      auto lab = lab_paths(runtime, at->path().filename().string());
      if (lab && is_running(*lab)) out.push_back(std::move(*lab));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const LabPaths& a, const LabPaths& b) { return a.name < b.name; });
  return out;
}

Expected<LabPaths> choose_lab(const std::vector<LabPaths>& running, std::string_view name) {
  std::vector<std::string_view> names;
  for (const LabPaths& lab : running) {
    if (lab.name == name || (name.empty() && running.size() == 1)) return lab;
    names.push_back(lab.name);
  }
  if (names.empty()) {
    return fail(std::errc::no_such_file_or_directory,
                name.empty() ? "no lab runs; to start one: weft up LAB.toml"
                             : fmt::format("lab {} does not run, nor does any other", name));
  }
  if (name.empty()) {
    return fail(
        std::errc::invalid_argument,
        fmt::format("several labs run: name one of them with --lab ({})", fmt::join(names, ", ")));
  }
  return fail(std::errc::no_such_file_or_directory,
              fmt::format("lab {} does not run; there are: {}", name, fmt::join(names, ", ")));
}

Expected<io::UniqueFd> claim_lab(const LabPaths& paths) {
  const std::string labs = paths.directory.substr(0, paths.directory.rfind('/'));
  for (const std::string& directory : {labs, paths.directory}) {
    if (auto ok = io::ensure_private_directory(directory); !ok) return tl::unexpected(ok.error());
  }
  io::UniqueFd lock(open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail_errno(errno, paths.lock);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return fail_errno(errno, paths.lock);
  return fail(std::errc::device_or_resource_busy,
              fmt::format("a lab named {} runs already: weft down {}, or choose another name with "
                          "--name",
                          paths.name, paths.name));
}

}  // namespace weft::daemon
