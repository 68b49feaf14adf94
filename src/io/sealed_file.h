// SPDX-License-Identifier: Apache-2.0
// Files in memory that one process fills and another reads, and that nobody can change between.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

// A file that holds `bytes` and stays so. `name` shows in /proc only.
Expected<UniqueFd> make_sealed_file(const char* name, Bytes bytes);

// Its size. bad_message: not a file that is sealed as the above are; anything else than memory can
// keep its reader waiting.
Expected<std::size_t> sealed_file_size(int fd);

// All of `out`, from the beginning. bad_message: there is less.
Expected<void> read_sealed_file(int fd, MutableBytes out);

}  // namespace weft::io
