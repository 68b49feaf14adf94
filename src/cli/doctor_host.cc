// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "cli/finding.h"
#include "cli/launch.h"
#include "cli/program.h"
#include "host/device_list.h"
#include "io/runtime_dir.h"

namespace weft::cli {
namespace {

// A queue pair takes one descriptor, two with multicast; a program's own come on top.
constexpr rlim_t kFewDescriptors = 1024;

Finding check_libraries() {
  const auto directory = find_dropin_directory();
  if (!directory) {
    return {"libraries", Level::kProblem, directory.error().message, ""};
  }
  if (const auto loader = loader_environment(*directory); !loader) {
    return {"libraries", Level::kProblem, loader.error().message, "move them, or link to them"};
  }
  return {"libraries", Level::kOk, "programs get libibverbs.so.1 of " + *directory, ""};
}

Finding check_devices(const host::Config& config) {
  const auto devices = host::list_devices(config);
  if (!devices) {
    return {"devices", Level::kProblem, devices.error().message, "bring an interface up"};
  }
  std::vector<std::string> names;
  for (const host::DeviceInfo& device : *devices)
    names.push_back(device.name);
  return {"devices", Level::kOk, fmt::format("programs see {}", fmt::join(names, ", ")), ""};
}

Finding check_runtime_directory() {
  const auto directory = io::runtime_directory();
  if (!directory) {
    return {"runtime dir", Level::kProblem, directory.error().message,
            "set XDG_RUNTIME_DIR to a directory of yours"};
  }
  return {"runtime dir", Level::kOk, *directory + " is yours and writable", ""};
}

Finding check_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  // Programs under `weft run` go up to the hard limit when they have to.
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= kFewDescriptors) {
    return {"descriptors", Level::kOk,
            fmt::format("{} file descriptors for each program (a queue pair takes one or two)",
                        limit.rlim_max),
            ""};
  }
  return {"descriptors", Level::kNote,
          fmt::format("{} file descriptors for each program: that many queue pairs at most",
                      limit.rlim_max),
          "raise the hard limit (ulimit -Hn, limits.conf)"};
}

Finding check_locked_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const std::string now =
      limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
  return {"locked memory", Level::kOk,
          fmt::format("limit {}; not needed: Weft registers memory without pinning it", now), ""};
}

Finding check_tshark() {
  if (const auto tshark = find_program("tshark", program_search_path()); tshark) {
    return {"tshark", Level::kOk, *tshark + " reads captures", ""};
  }
  return {"tshark", Level::kNote, "no tshark: captures can be made, but not read here",
          "install tshark or wireshark"};
}

}  // namespace

Findings check_host(const host::Config& config) {
  return {check_libraries(),   check_devices(config), check_runtime_directory(),
          check_descriptors(), check_locked_memory(), check_tshark()};
}

}  // namespace weft::cli
