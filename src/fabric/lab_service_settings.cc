// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_service_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "fabric/lab.h"
#include "fabric/lab_builder.h"
#include "fabric/lab_value.h"
#include "fabric/toml.h"
#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

constexpr const char* kKeyLetters = "abcdefghijklmnopqrstuvwxyz_";
// Another service of the lab.
constexpr std::string_view kOfLabs = "mirror_to";
constexpr const char* kText = "text";

tl::unexpected<Error> no_setting(const std::string& setting, std::string_view why) {
  return fail(std::errc::invalid_argument, fmt::format("--set {}: {}", setting, why));
}

// A line of a lab file, where strings have their quotes.
std::string line_of(const std::string& key, const std::string& value) {
  std::string plain = fmt::format("{} = {}\n", key, value);
  const bool one_line = value.find('\n') == std::string::npos;
  if (one_line && toml::parse(plain)) return plain;
  return fmt::format("{} = {}\n", key, quoted(value));
}

Done read_setting(LabService& service, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  if (equals == std::string::npos || key.empty() ||
      key.find_first_not_of(kKeyLetters) != std::string::npos) {
    return no_setting(setting, "want KEY=VALUE, as in rate=1Gb/s");
  }
  std::vector<std::string_view> names;
  const ServiceKey* found = nullptr;
  for (const ServiceKey& row : service_keys()) {
    if (!row.is_of(service.type) || row.name == kOfLabs) continue;
    names.push_back(row.name);
    if (row.name == key) found = &row;
  }
  if (found == nullptr) {
    return no_setting(setting,
                      fmt::format("a {} here has {}", service.type, fmt::join(names, ", ")));
  }
  const toml::parse_result parsed = toml::parse(line_of(key, setting.substr(equals + 1)));
  const auto* const node = parsed ? parsed.table().get(key) : nullptr;
  if (node == nullptr) return no_setting(setting, "no value that a lab file could have");
  const Lab none;
  const LabBuilder builder(kText, none);
  // Errors name the line of the text here, which nobody has seen.
  constexpr std::string_view kPlace = "text:1: ";
  return found->read(service, Value(builder, *node, key)).map_error([&](const Error& error) {
    const bool placed = error.message.starts_with(kPlace);
    return Error{error.code, "--set " + error.message.substr(placed ? kPlace.size() : 0)};
  });
}

}  // namespace

Expected<LabService> service_of_settings(const std::string& type,
                                         std::span<const std::string> settings) {
  LabService service;
  service.name = type;
  service.type = type;
  std::vector<std::string> keys;
  for (const std::string& setting : settings) {
    std::string key = setting.substr(0, setting.find('='));
    if (std::ranges::find(keys, key) != keys.end()) {
      return no_setting(setting, fmt::format("{} is said twice", key));
    }
    keys.push_back(std::move(key));
    if (Done done = read_setting(service, setting); !done) return tl::unexpected(done.error());
  }
  if (const std::string trouble = trouble_of(service); !trouble.empty()) {
    return fail(std::errc::invalid_argument, fmt::format("a {} {}", type, trouble));
  }
  return service;
}

}  // namespace weft::fabric
