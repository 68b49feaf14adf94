// SPDX-License-Identifier: Apache-2.0
// A regular file as one direction of a stream: one process appends to it, another one reads what is
// appended. What was read goes back to the file system, where that can have holes: the file grows,
// and its memory does not.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

class GrowingFile {
 public:
  // To be read from its present end on. `file`: open for reading and writing, and outlives this.
  // Errors: of inotify.
  static Expected<std::unique_ptr<GrowingFile>> from_its_end(int file, const std::string& path);
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Readable when somebody on this machine has appended something; file systems that several
  // machines share do not tell of the others.
  [[nodiscard]] int notices() const { return notices_.get(); }
  // They have been heard.
  void hear();
  // Bytes that were appended; nothing: there are no more now. Errors: of the file, which may have
  // become shorter too.
  Expected<std::optional<std::size_t>> read(MutableBytes room);

 private:
  GrowingFile(int file, UniqueFd notices, off_t end)
      : file_(file), notices_(std::move(notices)), at_(end) {}
  void give_back();

  const int file_;
  const UniqueFd notices_;
  off_t at_;
  off_t given_back_ = 0;  // all before
};

}  // namespace weft::io
