// SPDX-License-Identifier: Apache-2.0
// Files of prefix routes, whatever stands in them: routes of which none stands behind one that
// leads everywhere, or one line that begins with the file's name.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "input.h"
#include "sm/prefix_routes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::fuzz::require;
  using weft::sm::PrefixRoute;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = weft::sm::PrefixRoutes::parse(text, "file");
  if (!read) {
    require(read.error().message.starts_with("file:"));
    require(std::count(read.error().message.begin(), read.error().message.end(), '\n') == 0);
    return 0;
  }
  const auto& routes = read->routes;
  const auto everywhere = std::find(routes.begin(), routes.end(), PrefixRoute{});
  require(everywhere == routes.end() || everywhere + 1 == routes.end());
  require(everywhere != routes.end() || read->notes.empty());
  require(routes.size() + read->notes.size() <= size);
  return 0;
}
