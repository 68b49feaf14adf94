// SPDX-License-Identifier: Apache-2.0
// Keys of [service.NAME] one by one, for services that work outside of a lab's daemon and are told
// what they are where they are started.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "fabric/lab_service.h"

namespace weft::fabric {

// Of this type of kServiceTypes, with "KEY=VALUE" each; strings need no quotes. Its name is that of
// its type. A balancer is told GIDs instead of a lab's ports: `service` that which clients connect
// to, `servers` those that they are given to. Errors name the setting: a key that the type has not,
// or that only a lab can mean; a value that is none; what is missing.
[[nodiscard]] Expected<LabService> service_of_settings(const std::string& type,
                                                       std::span<const std::string> settings);

}  // namespace weft::fabric
