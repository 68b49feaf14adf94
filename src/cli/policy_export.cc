// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/report_view.h"
#include "fabric/toml_string.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

std::string value_text(const Json& value) {
  return value.is_string() ? fabric::quoted(value.get<std::string>()) : value.dump();
}

std::string values_text(const Json& values) {
  if (!values.is_array()) return value_text(values);
  std::vector<std::string> words;
  for (const Json& value : values)
    words.push_back(value_text(value));
  return words.size() == 1 ? words.front() : fmt::format("[{}]", fmt::join(words, ", "));
}

// Of an end: a port that is gone has no other name.
bool is_guid(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with("0x");
}

}  // namespace

Expected<std::string> rules_text(const Json& report) {
  std::string text;
  for (const Json& rule : list_of(report, "rules")) {
    for (const char* const ends : {"from", "to", "requester"}) {
      for (const Json& end : list_of(rule, ends)) {
        if (!is_guid(end)) continue;
        return fail(std::errc::no_such_device,
                    fmt::format("rule {}: {}: port {} is not there just now, and a lab file does "
                                "not know it by its GUID",
                                number_of(rule, "rule"), ends, printable(end.get<std::string>())));
      }
    }
    text += text.empty() ? "[[policy]]\n" : "\n[[policy]]\n";
    for (const char* const key : {"name", "from", "to", "requester", "service_id", "pkey", "sl",
                                  "qos_class", "through", "answer", "answer_sl"}) {
      if (rule.contains(key)) text += fmt::format("{} = {}\n", key, values_text(rule[key]));
    }
    if (rule.value("symmetric", Json()) == Json(true)) text += "symmetric = true\n";
  }
  return text;
}

}  // namespace weft::cli
