// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_value.h"

#include <tuple>

namespace weft::fabric {

Expected<std::uint16_t> Value::part() const {
  const auto name = string();
  if (!name) return tl::unexpected(name.error());
  const std::vector<LabPart>& parts = builder_.parts();
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const LabPart& part) { return part.name == *name; });
  if (found != parts.end()) return static_cast<std::uint16_t>(found - parts.begin());
  if (parts.empty()) {
    return wrong(fmt::format("there is no part {0}; a part is begun with [part.{0}]", *name));
  }
  std::vector<std::string_view> names;
  for (const LabPart& part : parts)
    names.push_back(part.name);
  return wrong(fmt::format("there is no part {}; there are {}", *name, fmt::join(names, ", ")));
}

Expected<std::string> Value::words() const {
  if (const auto* number = node_.as_integer()) return fmt::to_string(number->get());
  if (const auto* number = node_.as_floating_point()) return fmt::format("{}", number->get());
  return string();
}

Expected<std::vector<std::pair<std::string, Value>>> Value::table() const {
  const toml::table* table = node_.as_table();
  if (table == nullptr) return wrong("must be a table");
  std::vector<std::pair<std::string_view, const toml::node*>> nodes;
  nodes.reserve(table->size());
  for (const auto& [key, node] : *table)
    nodes.emplace_back(key.str(), &node);
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
    const toml::source_position& left = a.second->source().begin;
    const toml::source_position& right = b.second->source().begin;
    return std::tie(left.line, left.column) < std::tie(right.line, right.column);
  });
  const std::string prefix = where_.key.empty() ? "" : where_.key + ".";
  std::vector<std::pair<std::string, Value>> values;
  values.reserve(nodes.size());
  for (const auto& [key, node] : nodes)
    values.emplace_back(key, Value(builder_, *node, prefix + std::string(key)));
  return values;
}

Expected<std::vector<Value>> Value::array() const {
  const toml::array* array = node_.as_array();
  if (array == nullptr) return wrong("must be an array");
  std::vector<Value> values;
  values.reserve(array->size());
  for (const toml::node& node : *array)
    values.emplace_back(builder_, node, where_.key);
  return values;
}

}  // namespace weft::fabric
