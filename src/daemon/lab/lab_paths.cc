// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

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

// The lock of a lab that runs, over its whole file. It belongs to the open file: it outlives a fork
// and ends with the last process that holds it, and unlike flock()'s it can be asked for without
// being taken for a moment, which others would see.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool is_running(const LabPaths& lab) {
  const io::UniqueFd file(open(lab.lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock = whole_file();
  return file && fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

Expected<LabPaths> lab_paths(const std::string& runtime_directory, std::string_view name,
                             std::string_view part) {
  const auto refuse = [](const char* what, std::string_view text) {
    return fail(std::errc::invalid_argument,
                fmt::format("{} name '{}': 1 to {} letters, digits, '.', '_' and '-', the first no "
                            "'.'",
                            what, text, kLongestName));
  };
  if (!is_name(name)) return refuse("lab", name);
  if (!part.empty() && !is_name(part)) return refuse("part", part);
  return paths_below(runtime_directory + std::string(kLabs), name, part);
}

LabPaths paths_below(const std::string& labs, std::string_view name, std::string_view part) {
  const std::string directory = fmt::format("{}/{}{}{}", labs, name, part.empty() ? "" : "@", part);
  return LabPaths{.name = std::string(name),
                  .part = std::string(part),
                  .directory = directory,
                  .lock = directory + "/lock",
                  .attach = directory + "/attach",
                  .mads = directory + "/mads",
                  .rdma_cm = directory + "/rdma_cm",
                  .admin = directory + "/admin",
                  .parts = directory + "/parts"};
}

std::optional<LabPaths> paths_from(const std::string& labs, const std::string& directory) {
  const std::size_t sign = std::min(directory.find('@'), directory.size());
  const std::string name = directory.substr(0, sign);
  const std::string part = directory.substr(std::min(sign + 1, directory.size()));
  if (!is_name(name) || !(part.empty() || is_name(part))) return std::nullopt;
  return paths_below(labs, name, part);
}

LabPaths paths_of_part(const LabPaths& paths, const std::string& part) {
  const std::string runtime = paths.directory.substr(0, paths.directory.rfind(kLabs));
  return *lab_paths(runtime, paths.name, part);
}

std::vector<LabPaths> running_labs(const std::vector<std::string>& runtime_directories) {
  std::vector<LabPaths> out;
  for (const std::string& runtime : runtime_directories) {
    const std::string labs = runtime + std::string(kLabs);
    std::error_code error;
    for (std::filesystem::directory_iterator at(labs, error), end; !error && at != end;
         at.increment(error)) {
      auto lab = paths_from(labs, at->path().filename().string());
      if (lab && is_running(*lab)) out.push_back(std::move(*lab));
    }
  }
  std::sort(out.begin(), out.end(), [](const LabPaths& a, const LabPaths& b) {
    return std::tie(a.name, a.part) < std::tie(b.name, b.part);
  });
  return out;
}

Expected<std::vector<LabPaths>> choose_lab(const std::vector<LabPaths>& running,
                                           std::string_view name) {
  std::vector<std::string> names;
  std::vector<LabPaths> chosen;
  for (const LabPaths& lab : running) {
    names.push_back(lab.title());
    const bool only_one = lab.name == running.front().name && lab.name == running.back().name;
    if (name.empty() ? only_one : lab.name == name || lab.title() == name) chosen.push_back(lab);
  }
  if (!chosen.empty()) return chosen;
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
  const struct flock wanted = whole_file();
  if (fcntl(lock.get(), F_OFD_SETLK, &wanted) == 0) return lock;
  if (errno != EAGAIN && errno != EACCES) return fail_errno(errno, paths.lock);
  return fail(std::errc::device_or_resource_busy,
              paths.part.empty()
                  ? fmt::format("a lab named {0} runs already: weft down {0}, or choose another "
                                "name with --name",
                                paths.name)
                  : fmt::format("part {} of lab {} runs already: weft down {}", paths.part,
                                paths.name, paths.title()));
}

}  // namespace weft::daemon
