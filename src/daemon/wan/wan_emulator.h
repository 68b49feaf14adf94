// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "daemon/wan/wan_proxy.h"
#include "io/reactor.h"

namespace weft::daemon {

struct WanEmulatorConfig {
  enum class Carries : std::uint8_t { kUdp, kStream };
  Carries carries = Carries::kUdp;
  std::string listen;          // an address; of streams also "unix:PATH"
  std::string target;          // where everything goes that comes there
  wan::PathEmulation forward;  // from who listens to the target
  wan::PathEmulation backward;
  std::string equipment;  // of streams: what stands in the line that each is; empty: nothing
  std::size_t memory = std::size_t{1} << 30;  // for what is under way in each direction, in bytes
};

// A process between two others that makes the way between them look like a WAN.
class WanEmulator {
 public:
  // Errors say which address or setting it is.
  static Expected<std::unique_ptr<WanEmulator>> open(const WanEmulatorConfig& config);
  ~WanEmulator();

  // Until stop(). Calls `at_interval` every `interval` (0: never), and `when_woken` after wake().
  Expected<void> run(Duration interval, const std::function<void()>& at_interval,
                     const std::function<void()>& when_woken);
  // From any thread and from signal handlers.
  void stop();
  void wake();

  // From now on; what is under way keeps its time. An error changes nothing.
  Expected<void> change(const wan::PathEmulation& forward, const wan::PathEmulation& backward);

  [[nodiscard]] std::string listens() const { return proxy_->listens(); }
  // What it carries, each direction's settings, what is under way, and counters.
  [[nodiscard]] nlohmann::json report() const;

 private:
  explicit WanEmulator(const WanEmulatorConfig& config) : config_(config) {}

  WanEmulatorConfig config_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<WanProxy> proxy_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> woken_{false};
};

}  // namespace weft::daemon
