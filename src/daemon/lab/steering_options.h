// SPDX-License-Identifier: Apache-2.0
// What a lab file says of data services and of paths through them, as the subnet manager takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fabric/lab.h"
#include "sm/policy/path_steering.h"

namespace weft::daemon {

// With two rules more where no rule names a service: all paths lead through such services, one
// behind the other in the order of the file, but those from and to the ports that they are at. A
// router's are those between the subnets that it is in, through the services of both that no rule
// names. `subnet`: of the lab's, whose manager it is for; all have the same rules and services in
// the same order.
[[nodiscard]] sm::SteeringOptions steering_options(const fabric::Lab& lab, std::size_t subnet = 0);
// One rule; what it names is in the lab.
[[nodiscard]] sm::PathRule path_rule(const fabric::Lab& lab, const fabric::LabPolicy& policy,
                                     std::size_t subnet = 0);
// The lab's subnet that a manager at this port manages.
[[nodiscard]] std::size_t managed_subnet_of(const fabric::Lab& lab, std::string_view node,
                                            std::uint8_t port);

}  // namespace weft::daemon
