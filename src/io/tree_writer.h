// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weft::io {

// Writes a tree of small files until one fails, and remembers that one.
class TreeWriter {
 public:
  void directory(const std::filesystem::path& path);
  // One line; directories above it are made as needed.
  void file(const std::filesystem::path& path, std::string_view text);
  void link(const std::filesystem::path& path, const std::filesystem::path& target);
  // With all that is below it.
  void remove(const std::filesystem::path& path);
  // The error of the first file that could not be written names it.
  [[nodiscard]] Expected<void> result() const;

 private:
  [[nodiscard]] bool failed() const { return error_ != 0; }
  void set(int error, const std::filesystem::path& path);
  int error_ = 0;
  std::string where_;
};

}  // namespace weft::io
