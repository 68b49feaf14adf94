// SPDX-License-Identifier: Apache-2.0
#include "cli/style.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace weft::cli {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

Style Style::for_stream(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return Style(!is_set("NO_COLOR") && !dumb && isatty(fileno(stream)) == 1);
}

std::string Style::wrap(std::string_view code, std::string_view text) const {
  return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace weft::cli
