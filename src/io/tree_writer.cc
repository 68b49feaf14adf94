// SPDX-License-Identifier: Apache-2.0
#include "io/tree_writer.h"

#include <cerrno>
#include <fstream>
#include <system_error>

namespace weft::io {

namespace fs = std::filesystem;

void TreeWriter::directory(const fs::path& path) {
  if (failed()) return;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) set(error.value(), path);
}

void TreeWriter::file(const fs::path& path, std::string_view text) {
  directory(path.parent_path());
  if (failed()) return;
  errno = 0;
  std::ofstream out(path, std::ios::trunc);
  out << text << '\n';
  out.close();
  if (!out) set(errno != 0 ? errno : EIO, path);
}

void TreeWriter::link(const fs::path& path, const fs::path& target) {
  directory(path.parent_path());
  if (failed()) return;
  std::error_code error;
  fs::create_symlink(target, path, error);
  if (error) set(error.value(), path);
}

void TreeWriter::remove(const fs::path& path) {
  if (failed()) return;
  std::error_code error;
  fs::remove_all(path, error);
  if (error) set(error.value(), path);
}

Expected<void> TreeWriter::result() const {
  if (failed()) return fail_errno(error_, where_);
  return {};
}

void TreeWriter::set(int error, const fs::path& path) {
  error_ = error;
  where_ = path.string();
}

}  // namespace weft::io
