// SPDX-License-Identifier: Apache-2.0
// Makes the services that lab files name.
#pragma once

#include <memory>

#include "base/error.h"
#include "fabric/lab_service.h"
#include "service/service.h"

namespace weft::daemon {

// Whether it is made here; that of a process is the process's own.
[[nodiscard]] bool works_in_daemon(const fabric::LabService& service);

// Errors: its rules cannot be read, with file, line and column; a type that Weft has not.
[[nodiscard]] Expected<std::unique_ptr<service::Service>> make_service(
    const fabric::LabService& service);

}  // namespace weft::daemon
