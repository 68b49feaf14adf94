// SPDX-License-Identifier: Apache-2.0
// Counters and other values in the text form that Prometheus reads (its exposition format, version
// 0.0.4): families of samples, each with a line of help and its type before it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weft {

class MetricsText {
 public:
  enum class Type : std::uint8_t {
    kCounter,  // only ever grows; its name ends in "_total"
    kGauge,
  };
  struct Label {
    std::string_view name;   // letters, digits and _
    std::string_view value;  // anything
  };

  // The samples that follow are of this family, until the next one begins. Each family once.
  // `name`: letters, digits and _. `help`: one line for a person, which may hold anything.
  void begin(std::string_view name, Type type, std::string_view help);
  // Several samples of a family differ in their labels.
  void add(std::uint64_t value, std::initializer_list<Label> labels = {});
  void add_seconds(double value, std::initializer_list<Label> labels = {});

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add_name(std::initializer_list<Label> labels);

  std::string name_;
  std::string text_;
};

}  // namespace weft
