// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "hca/types.h"
#include "verbs/abi.h"

namespace weft::verbs {

// What a bind of `window` asks for, but for the new key; nothing when the description is not one of
// IBA 10.6.7.2: unknown rights, or a range without a region.
std::optional<hca::WindowBinding> binding_of(const ibv_mw& window, const ibv_mw_bind_info& info);

}  // namespace weft::verbs
