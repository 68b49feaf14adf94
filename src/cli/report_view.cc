// SPDX-License-Identifier: Apache-2.0
#include "cli/report_view.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"

namespace weft::cli {

using Json = nlohmann::json;

namespace {

const Json* find(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

std::string text_of(const Json& object, const char* name) {
  const Json* const member = find(object, name);
  if (member == nullptr) return "?";
  return member->is_string() ? member->get<std::string>()
                             : member->dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::uint64_t number_of(const Json& object, const char* name) {
  const Json* const member = find(object, name);
  return member != nullptr && member->is_number_unsigned() ? member->get<std::uint64_t>() : 0;
}

const Json& list_of(const Json& object, const char* name) {
  static const Json empty = Json::array();
  const Json* const member = find(object, name);
  return member != nullptr && member->is_array() ? *member : empty;
}

const Json& object_of(const Json& object, const char* name) {
  static const Json empty = Json::object();
  const Json* const member = find(object, name);
  return member != nullptr && member->is_object() ? *member : empty;
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

std::string members(const Json& object, const std::vector<const char*>& names) {
  std::string line;
  for (const char* name : names)
    line += fmt::format("{}{} {}", line.empty() ? "" : " ", name, text_of(object, name));
  return printable(line);
}

void print_counters(const Json& counters) {
  for (const auto& [name, value] : counters.items()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() == 0) continue;
    fmt::print("    {} {}\n", printable(name), printable(value.dump()));
  }
}

void print_standing_report(const Json& report, bool json,
                           const std::function<void(const Style& style)>& print) {
  // Where there is no room for what it says, it goes on all the same.
  if (std::ferror(stdout) != 0) return;
  if (json) {
    fmt::print("{}\n", report.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print(Style::for_stream(stdout));
  }
  std::fflush(stdout);
}

void print_json(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

int complain(const char* command, const Reports& reports) {
  for (const std::string& complaint : reports.complaints)
    fmt::print(stderr, "weft {}: {}\n", command, printable(complaint));
  return reports.complaints.empty() ? kOk : kProblem;
}

}  // namespace weft::cli
