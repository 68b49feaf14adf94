// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fabric/lab_builder.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

// The keys of [[link]].
[[nodiscard]] Keys<LabBuilder::LinkText> link_keys();

}  // namespace weft::fabric
