// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::cli {

std::string Table::to_string(const Style& style) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (&row == &rows_.front() ? style.bold(line) : line) + "\n";
  }
  return out;
}

}  // namespace weft::cli
