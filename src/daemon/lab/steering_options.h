// SPDX-License-Identifier: Apache-2.0
// What a lab file says of data services and of paths through them, as the subnet manager takes it.
#pragma once

#include "fabric/lab.h"
#include "sm/policy/path_steering.h"

namespace weft::daemon {

// With two rules more where no rule names a service: all paths lead through such services, one
// behind the other in the order of the file, but those from and to the ports that they are at. A
// router's are those between the subnets that it is in.
[[nodiscard]] sm::SteeringOptions steering_options(const fabric::Lab& lab);
// One rule; what it names is in the lab.
[[nodiscard]] sm::PathRule path_rule(const fabric::Lab& lab, const fabric::LabPolicy& policy);

}  // namespace weft::daemon
