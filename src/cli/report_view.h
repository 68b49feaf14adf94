// SPDX-License-Identifier: Apache-2.0
// Reading what other processes say of themselves: a missing or odd member is nothing, and no name
// reaches the terminal with anything in it that a terminal would act upon.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/report_client.h"
#include "cli/style.h"

namespace weft::cli {

// A member as text, "?" when there is none.
std::string text_of(const nlohmann::json& object, const char* name);
// A member that counts something; 0 when there is none, or it is no number.
std::uint64_t number_of(const nlohmann::json& object, const char* name);
// A member that is a list, or an object; empty when it is not.
const nlohmann::json& list_of(const nlohmann::json& object, const char* name);
const nlohmann::json& object_of(const nlohmann::json& object, const char* name);

// Without control characters.
std::string printable(std::string text);

// "lqpn 49153 type UD": the members of an object in the order of `names`.
std::string members(const nlohmann::json& object, const std::vector<const char*>& names);

// Indented lines of "name value" for the counters that are not zero.
void print_counters(const nlohmann::json& counters);

// Calls each(process, device) for every device that a program has open.
template <class F>
void for_each_device(const Reports& reports, F each) {
  for (const nlohmann::json& process : reports.processes) {
    for (const nlohmann::json& device : list_of(process, "devices")) {
      if (device.is_object()) each(process, device);
    }
  }
}

// What a process says of itself while it runs: in JSON a line, else what `print` prints; on stdout.
void print_standing_report(const nlohmann::json& report, bool json,
                           const std::function<void(const Style& style)>& print);

// JSON for people and scripts, on stdout.
void print_json(const nlohmann::json& document);

// What could not be read, on stderr; kProblem if there was something.
int complain(const char* command, const Reports& reports);

}  // namespace weft::cli
