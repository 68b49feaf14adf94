// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/style.h"

namespace weft::cli {

// Columns as wide as their longest text; no blanks at the end of a line.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  // As many cells as the head has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string to_string(const Style& style) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::cli
