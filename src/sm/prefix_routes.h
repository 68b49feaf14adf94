// SPDX-License-Identifier: Apache-2.0
// By which routers packets go to other subnets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace weft::sm {

// GIDs of other subnets are answered with the LID of a router's port.
struct PrefixRoute {
  std::uint64_t prefix = 0;  // the first half of the GIDs; 0: any
  Guid router{};             // a port GUID; 0: any router of the subnet
  friend bool operator==(const PrefixRoute&, const PrefixRoute&) = default;
};

struct PrefixRoutes {
  // Of a file in the format of OpenSM's prefix-routes.conf: a line is a prefix and a port GUID,
  // both hexadecimal, or '*' for any; '#' begins a comment. A file without a line leads nowhere.
  // Errors: the first line that cannot be understood, and what would be right; `name` is what they
  // call the file. `notes` says which lines are never used.
  [[nodiscard]] static Expected<PrefixRoutes> parse(std::string_view text, const std::string& name);

  // In order: the first one that fits and whose router is there counts.
  std::vector<PrefixRoute> routes{{}};
  std::vector<std::string> notes{};
};

}  // namespace weft::sm
