// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands.h"

namespace weft::cli {

int refuse(std::string_view command, std::string_view message) {
  fmt::print(stderr, "weft{}{}: {}\n", command.empty() ? "" : " ", command, message);
  return kRefused;
}

}  // namespace weft::cli
