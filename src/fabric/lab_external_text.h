// SPDX-License-Identifier: Apache-2.0
// How lab files say where the server of an external service is:
//
//   [service.firewall]
//   type = "external"
//   at = "fw"
//   server = "192.0.2.9:7471"
//   key = "fabric.key"
//   fingerprint = "server.pub"
#pragma once

#include <string>

#include "base/error.h"
#include "fabric/lab_service.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

// Of each key how it is read, and what stands behind "NAME = "; empty: it is as is usual.
Done read_server(LabService& service, const Value& value);
std::string write_server(const LabService& service);
Done read_external_listen(LabService& service, const Value& value);
std::string write_external_listen(const LabService& service);
Done read_external_key(LabService& service, const Value& value);
std::string write_external_key(const LabService& service);
Done read_external_certificate(LabService& service, const Value& value);
std::string write_external_certificate(const LabService& service);
Done read_external_fingerprint(LabService& service, const Value& value);
std::string write_external_fingerprint(const LabService& service);
Done read_external_insecure(LabService& service, const Value& value);
std::string write_external_insecure(const LabService& service);

// What is missing of an external service; empty: nothing.
[[nodiscard]] std::string external_trouble(const LabService& service);

}  // namespace weft::fabric
