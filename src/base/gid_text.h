// SPDX-License-Identifier: Apache-2.0
// GIDs and GUIDs as people write them.
#pragma once

#include <optional>
#include <string_view>

#include "base/ids.h"

namespace weft {

// An IPv6 address in any of the forms of RFC 4291, section 2.2; nothing: it is none.
[[nodiscard]] std::optional<Gid> parse_gid(std::string_view text);
// Hexadecimal, with or without 0x; nothing: it is no number of 64 bits.
[[nodiscard]] std::optional<Guid> parse_guid(std::string_view text);

}  // namespace weft
