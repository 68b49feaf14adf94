// SPDX-License-Identifier: Apache-2.0
#include "io/lab_refusal.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "io/user_names.h"

namespace weft::io {
namespace {

std::string_view meaning_of(std::string_view right) {
  if (right == "attach") return "run programs on nodes";
  return right == "manage" ? "send management packets" : "see its state, change links, end it";
}

}  // namespace

// What a lab lets nobody else do has no socket for others; what it lets some do has one that the
// rest may not open.
Error explain_refusal(Error error, const std::string& lab, std::string_view right) {
  const bool is_closed = error.code == std::errc::permission_denied ||
                         error.code == std::errc::no_such_file_or_directory;
  struct stat status {};
  if (!is_closed || stat(lab.c_str(), &status) != 0 || status.st_uid == geteuid()) return error;
  const std::string owner = user_name(status.st_uid);
  return {std::errc::permission_denied,
          fmt::format("lab {0}/{1} does not let user {2} {3} ({4}); {0} can change that: weft up "
                      "--access {3}=everyone, or {3}=group:NAME",
                      owner, std::filesystem::path(lab).filename().string(), user_name(geteuid()),
                      right, meaning_of(right))};
}

}  // namespace weft::io
