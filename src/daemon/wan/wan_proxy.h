// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/time.h"
#include "wan/path_emulation.h"

namespace weft::daemon {

// What stands between two programs and has an emulated WAN in it.
class WanProxy {
 public:
  virtual ~WanProxy() = default;

  // Sends on what is due. Returns when there is next something to do without anybody's doing.
  virtual std::optional<Time> run(Time now) = 0;
  // From now on.
  virtual void change(const wan::PathEmulation& forward, const wan::PathEmulation& backward,
                      Time now) = 0;
  // Where it listens, with the port that the kernel chose.
  [[nodiscard]] virtual std::string listens() const = 0;
  // Members "forward" and "backward", and what else it counts.
  [[nodiscard]] virtual nlohmann::json report(Time now) = 0;
};

}  // namespace weft::daemon
