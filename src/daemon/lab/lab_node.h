// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "fabric/fabric.h"

namespace weft::daemon {

// no_such_device, in words for a person: the lab has no node of that name, or another part of it
// has it, and the words say which.
[[nodiscard]] tl::unexpected<Error> no_such_node(const fabric::Fabric& fabric,
                                                 std::string_view name);
[[nodiscard]] tl::unexpected<Error> no_such_node(const fabric::Fabric& fabric, std::size_t index);

}  // namespace weft::daemon
