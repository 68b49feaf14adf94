// SPDX-License-Identifier: Apache-2.0
#include "io/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "io/unique_fd.h"

namespace weft::io {

Expected<std::string> read_text_file(const std::string& path, std::size_t most) {
  const bool is_input = path == "-";
  const std::string name = is_input ? "standard input" : path;
  const UniqueFd opened(is_input ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_input && !opened) return fail_errno(errno, name);
  const int file = is_input ? STDIN_FILENO : opened.get();
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t got = ::read(file, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, name);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > most) {
      return fail(std::errc::file_too_large,
                  name + ": longer than " + std::to_string(most) + " bytes");
    }
  }
}

}  // namespace weft::io
