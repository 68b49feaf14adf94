// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/error.h"
#include "daemon/service/firewall_rules.h"

namespace weft::cli {

// What came of rules that a process has read anew, on standard error.
void say_reload(std::string_view command, const Expected<daemon::FirewallReload>& reload);

}  // namespace weft::cli
