// SPDX-License-Identifier: Apache-2.0
// Files that people write, read whole.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace weft::io {

// What is in the file `path`; "-": what comes by standard input. file_too_large: more than `most`
// bytes; other errors are those of the system. Each names the file.
Expected<std::string> read_text_file(const std::string& path, std::size_t most);

}  // namespace weft::io
