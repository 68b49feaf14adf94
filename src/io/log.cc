// SPDX-License-Identifier: Apache-2.0
#include "io/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace weft::io {
namespace {

// In one write. False: stderr did not take it.
bool write_line(std::string_view message) {
  std::string line = "weft: ";
  line += message;
  line += '\n';
  return ::write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

LogLevel read_level() {
  const char* text = std::getenv("WEFT_LOG");
  const std::string_view value = text == nullptr ? "" : text;
  if (value == "off") return LogLevel::kOff;
  if (value == "info") return LogLevel::kInfo;
  if (!value.empty() && value != "error") {
    // Nothing is left to tell it to when stderr does not take it.
    static_cast<void>(
        write_line("WEFT_LOG=" + std::string(value) + ": the value must be off, error or info"));
  }
  return LogLevel::kError;
}

// A wrong argument is between the program and the return value. A resource that ran out, a port
// or an interface that is not there are for the person at the terminal.
bool is_for_a_person(std::errc code) {
  return code != std::errc::invalid_argument && code != std::errc::operation_not_supported &&
         code != std::errc::device_or_resource_busy &&
         code != std::errc::resource_unavailable_try_again && code != std::errc::interrupted;
}

}  // namespace

LogLevel log_level() {
  static const LogLevel level = read_level();
  return level;
}

void log(LogLevel level, std::string_view message) {
  if (level > log_level()) return;
  const int saved = errno;
  static_cast<void>(write_line(message));
  errno = saved;
}

bool try_log(std::string_view message) {
  const int saved = errno;
  // A pipe that is ready takes a line of this length whole.
  pollfd stderr_now{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  const bool ready = message.size() < PIPE_BUF / 2 && ::poll(&stderr_now, 1, 0) == 1 &&
                     (stderr_now.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
  const bool written = ready && write_line(message);
  errno = saved;
  return written;
}

int report(const Error& error) {
  if (!error.message.empty()) {
    log(is_for_a_person(error.code) ? LogLevel::kError : LogLevel::kInfo, error.message);
  }
  return report(static_cast<int>(error.code));
}

int report(int error_number) {
  errno = error_number;
  return error_number;
}

}  // namespace weft::io
