// SPDX-License-Identifier: Apache-2.0
// Memory that processes share: a file in memory whose size is fixed, mapped by each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

enum class Access : std::uint8_t { kRead, kWrite };  // kWrite reads too

// A file of `size` zero bytes that can neither shrink nor grow, so that nobody who has mapped it
// meets SIGBUS. Pages are taken as they are touched. `name` shows in /proc only.
Expected<UniqueFd> make_shared_file(const char* name, std::size_t size);

// From now on nobody can write to the file, except through mappings that there are already.
Expected<void> end_writing(int file);

// From now on nobody can keep others from writing either, or do anything else of the kind.
Expected<void> end_sealing(int file);

// The same file opened anew for reading only.
Expected<UniqueFd> reopen_to_read(int file);

// A mapping of the front of a file; ended when destroyed.
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SharedMapping& operator=(SharedMapping other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SharedMapping();

  // bad_message: the file is shorter, or could become so.
  static Expected<SharedMapping> map(int file, std::size_t size, Access access);

  // Null when there is none. Page-aligned. Written to only with Access::kWrite.
  [[nodiscard]] void* begin() const { return begin_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  SharedMapping(void* begin, std::size_t size) : begin_(begin), size_(size) {}
  void* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::io
