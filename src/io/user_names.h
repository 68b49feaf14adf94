// SPDX-License-Identifier: Apache-2.0
// Names of users and groups, as this machine has them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace weft::io {

// "root"; of a user without a name, his number.
[[nodiscard]] std::string user_name(uid_t user);

// By name, or by number, which need have no name. Nothing: there is none of that name.
[[nodiscard]] std::optional<uid_t> find_user(const std::string& name);
[[nodiscard]] std::optional<gid_t> find_group(const std::string& name);

}  // namespace weft::io
