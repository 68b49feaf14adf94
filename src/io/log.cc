// SPDX-License-Identifier: Apache-2.0
#include "io/log.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace weft::io {
namespace {

void write_line(std::string_view message) {
  std::string line = "weft: ";
  line += message;
  line += '\n';
  // Nothing is left to tell it to when stderr does not take it.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

LogLevel read_level() {
  const char* text = std::getenv("WEFT_LOG");
  const std::string_view value = text == nullptr ? "" : text;
  if (value == "off") return LogLevel::kOff;
  if (value == "info") return LogLevel::kInfo;
  if (!value.empty() && value != "error") {
    write_line("WEFT_LOG=" + std::string(value) + ": the value must be off, error or info");
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
  write_line(message);
  errno = saved;
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
