// SPDX-License-Identifier: Apache-2.0
// Where the lines go that firewalls write for rules with `log`: to standard error of the process
// that they work in, and the last ones of each to whoever asks about it.
//
// Whoever sends packets makes them write. So a firewall writes a few a second only
// (FirewallOptions), a process few in the long run, and none waits for who reads them; what is not
// written the firewall counts, and says in its next line.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/allowance.h"
#include "base/time.h"
#include "service/firewall/firewall.h"

namespace weft::daemon {

// Of a process. Any thread.
class FirewallLog {
 public:
  // So many lines at once, after a pause; and then one each time: 20 MB a day.
  static constexpr unsigned kAtOnce = 1000;
  static constexpr Duration kEvery = 1s;
  // False: it could not be written.
  using Write = std::function<bool(std::string_view line)>;

  FirewallLog();  // to standard error
  explicit FirewallLog(Write write) : write_(std::move(write)) {}
  // False: it is one too many, or could not be written.
  [[nodiscard]] bool write(std::string_view line, Time now);

 private:
  std::mutex mutex_;
  Allowance allowance_{kEvery, kAtOnce};
  const Write write_;
};

// Of one firewall, called by its own thread.
class FirewallLines final : public service::firewall::LogSink {
 public:
  static constexpr std::size_t kKept = 32;

  // `name`: how lines call the firewall: "firewall at fw1:2". `log` outlives it.
  FirewallLines(FirewallLog& log, std::string name) : log_(log), name_(std::move(name)) {}
  [[nodiscard]] bool log(const Line& line, Time now) override;
  // The last ones that were written, in their order: [{"time": seconds since 1970, "line"}].
  [[nodiscard]] nlohmann::json last() const;

 private:
  struct Kept {
    Duration time;  // on the wall's clock
    std::string line;
  };
  FirewallLog& log_;
  const std::string name_;
  std::deque<Kept> kept_;
};

}  // namespace weft::daemon
