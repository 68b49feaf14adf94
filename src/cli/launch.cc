// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "cli/elf_file.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVerbsLibrary = "libibverbs.so.1";
constexpr const char* kMadLibrary = "libibumad.so.3";
constexpr std::array<const char*, 2> kShimLibraries{"libweft_rdmacm.so", "libweft_shim.so"};
constexpr const char* kAgentProgram = "weftd";
// They refuse to start unless they are the first library of the process.
constexpr std::array<std::string_view, 3> kSanitizers{"libasan.so", "libtsan.so",
                                                      "libclang_rt.asan"};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// "new:old", or "new" where nothing was set.
std::string prepended(const std::string& value, const char* name) {
  const char* old = std::getenv(name);
  return old == nullptr || *old == '\0' ? value : value + ":" + old;
}

std::string quoted(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./+=:,@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Expected<std::string> find_dropin_directory() {
  std::vector<std::string> tried;
  const auto usable = [&](const fs::path& directory) {
    tried.push_back(directory.string());
    return is_file(directory / kVerbsLibrary);
  };
  if (const char* named = std::getenv("WEFT_LIBDIR"); named != nullptr && *named != '\0') {
    std::error_code error;
    const fs::path directory = fs::absolute(named, error);
    if (usable(directory)) return directory.string();
    return fail(std::errc::no_such_file_or_directory,
                fmt::format("WEFT_LIBDIR={}: there is no {} in it", named, kVerbsLibrary));
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = self.parent_path().parent_path();
  std::vector<std::string> places{"lib/weft", WEFT_INSTALL_LIBDIR "/weft"};
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (const std::string& place : places) {
    if (usable(prefix / place)) return (prefix / place).string();
  }
  return fail(std::errc::no_such_file_or_directory,
              fmt::format("there is no {} in {}; install Weft whole, or say with WEFT_LIBDIR where "
                          "it is",
                          kVerbsLibrary, fmt::join(tried, " or ")));
}

Expected<Environment> loader_environment(const std::string& directory, bool on_node) {
  if (directory.find_first_of(" :;\t\n") != std::string::npos) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: the loader cannot take a directory with spaces, colons or "
                            "semicolons in its name; use a symbolic link and WEFT_LIBDIR",
                            directory));
  }
  const std::string verbs = fmt::format("{}/{}", directory, kVerbsLibrary);
  const auto elf = read_elf(verbs);
  if (!elf) return tl::unexpected(elf.error());
  std::vector<std::string> preload;
  if (*elf) {
    for (const std::string& library : (*elf)->needed) {
      for (const std::string_view sanitizer : kSanitizers) {
        if (library.starts_with(sanitizer)) preload.push_back(library);
      }
    }
  }
  preload.push_back(verbs);
  if (on_node) preload.push_back(fmt::format("{}/{}", directory, kMadLibrary));
  for (const char* library : kShimLibraries) {
    const std::string shim = fmt::format("{}/{}", directory, library);
    if (is_file(shim)) preload.push_back(shim);
  }
  return Environment{
      {"LD_LIBRARY_PATH", prepended(directory, "LD_LIBRARY_PATH")},
      {"LD_PRELOAD", prepended(fmt::format("{}", fmt::join(preload, ":")), "LD_PRELOAD")},
  };
}

Environment agent_environment(const std::string& runtime_directory) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path() / kAgentProgram;
  if (!is_file(program)) return {};
  return {{"WEFT_AGENT", program.string()}, {"WEFT_RUNTIME_DIR", runtime_directory}};
}

std::string tshark_command(const host::Config& config) {
  if (config.wire == host::Wire::kBare || !config.node.empty()) {
    return "tshark -r " + quoted(config.capture);
  }
  // tshark knows the port of the standard wire by itself. 65535 is where multicast goes.
  std::string decode;
  if (config.wire == host::Wire::kUdp) {
    decode = fmt::format(" -d udp.port=={}-65535,infiniband", config.first_port);
    if (config.cm_port < config.first_port) {
      decode += fmt::format(" -d udp.port=={},infiniband", config.cm_port);
    }
  }
  // The three protocols guess at the payload of short sends.
  return fmt::format(
      "tshark -r {}{} --disable-protocol rpcordma --disable-protocol infiniband.eoib "
      "--disable-protocol lapbether",
      quoted(config.capture), decode);
}

}  // namespace weft::cli
