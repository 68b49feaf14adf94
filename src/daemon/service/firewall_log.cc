// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/firewall_log.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/clock.h"
#include "io/log.h"
#include "service/firewall/packet_text.h"

namespace weft::daemon {

FirewallLog::FirewallLog() : FirewallLog([](std::string_view line) { return io::try_log(line); }) {
}

bool FirewallLog::write(std::string_view line, Time now) {
  const std::lock_guard guard(mutex_);
  return allowance_.take(now) && write_(line);
}

bool FirewallLines::log(const Line& line, Time now) {
  std::string text = fmt::format("{}{}: {}", line.rule.log_prefix, name_, log_text(line));
  if (!log_.write(text, now)) return false;
  if (kept_.size() == kKept) kept_.pop_front();
  kept_.push_back({.time = io::wall_clock(), .line = std::move(text)});
  return true;
}

nlohmann::json FirewallLines::last() const {
  nlohmann::json out = nlohmann::json::array();
  for (const Kept& kept : kept_) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kept.time);
    out.push_back({{"time", seconds.count()}, {"line", kept.line}});
  }
  return out;
}

}  // namespace weft::daemon
