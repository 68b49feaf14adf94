// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sm/subnet_management.h"

namespace weft::sm {

// What a subnet manager and its administrator count and are, in Prometheus's text form: families of
// names that begin with "weft_sm_".
[[nodiscard]] std::string metrics_text(const SubnetManagement& management);

}  // namespace weft::sm
