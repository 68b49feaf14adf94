// SPDX-License-Identifier: Apache-2.0
#include "cli/event_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/report_view.h"

namespace weft::cli {

std::string local_time(double time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(time)));
}

void print_event(double time, const std::string& kind, const std::string& text, bool json) {
  if (json) {
    const nlohmann::json event{{"time", time}, {"kind", kind}, {"text", text}};
    fmt::print("{}\n", event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print("{}  {:<10} {}\n", local_time(time), printable(kind), printable(text));
}

}  // namespace weft::cli
