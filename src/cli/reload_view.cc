// SPDX-License-Identifier: Apache-2.0
#include "cli/reload_view.h"

#include <fmt/format.h>

#include <cstdio>

namespace weft::cli {

void say_reload(std::string_view command, const Expected<daemon::FirewallReload>& reload) {
  if (reload) {
    fmt::print(stderr, "weft {}: the rules are exchanged: {}\n", command, to_string(*reload));
  } else {
    fmt::print(stderr, "weft {}: nothing is changed: {}\n", command, reload.error().message);
  }
}

}  // namespace weft::cli
