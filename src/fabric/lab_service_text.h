// SPDX-License-Identifier: Apache-2.0
// How a lab file says which data services there are, and what leads through them:
//
//   [service.firewall]
//   at = [["fw1", "fw2"]]
//   [[policy]]
//   from = "a"
//   through = "firewall"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/lab.h"
#include "fabric/lab_builder.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

// A table of services, by their names; a list of rules.
[[nodiscard]] Done add_services(LabBuilder& builder, const Value& table);
[[nodiscard]] Done add_policies(LabBuilder& builder, const Value& array);
// One rule for a lab that is there, in the form of a [[policy]] without that line; errors call it
// `name`.
[[nodiscard]] Expected<LabPolicy> parse_policy(std::string_view text, const Lab& lab,
                                               const std::string& name);

// The rules of a file of their own, which has [[policy]] and nothing else, for a lab that has none.
// Errors name the file and a line.
[[nodiscard]] Expected<std::vector<LabPolicy>> parse_policies(std::string_view text, const Lab& lab,
                                                              const std::string& file);

// Both, as they are read; empty where there are none.
[[nodiscard]] std::string services_text(const Lab& lab);
// "a:2", or "a" for the first port.
[[nodiscard]] std::string to_string(const LabPort& port);
// Nothing: it is not of that form.
[[nodiscard]] std::optional<LabPort> parse_lab_port(const std::string& text);

}  // namespace weft::fabric
