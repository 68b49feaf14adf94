// SPDX-License-Identifier: Apache-2.0
#include "base/metrics_text.h"

#include <fmt/format.h>

#include <iterator>

namespace weft {
namespace {

// In both of these a backslash and the end of a line are written with a backslash, in values of
// labels the quotation mark too.
std::string escaped(std::string_view text, bool in_quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (c == '"' && in_quotes)) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void MetricsText::begin(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name,
                 escaped(help, false), name, type == Type::kCounter ? "counter" : "gauge");
}

void MetricsText::add_name(std::initializer_list<Label> labels) {
  text_ += name_;
  char before = '{';
  for (const Label& label : labels) {
    fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", before, label.name,
                   escaped(label.value, true));
    before = ',';
  }
  if (labels.size() > 0) text_ += '}';
}

void MetricsText::add(std::uint64_t value, std::initializer_list<Label> labels) {
  add_name(labels);
  fmt::format_to(std::back_inserter(text_), " {}\n", value);
}

void MetricsText::add_seconds(double value, std::initializer_list<Label> labels) {
  add_name(labels);
  fmt::format_to(std::back_inserter(text_), " {}\n", value);
}

}  // namespace weft
