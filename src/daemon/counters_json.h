// SPDX-License-Identifier: Apache-2.0
// Counters in what a daemon reports of its labs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/counters.h"

namespace weft::daemon {

// {"rx_packets": 12, …}, without those that are 0: a large lab has many.
inline nlohmann::json counters_json(std::span<const CounterValue> counters) {
  nlohmann::json out = nlohmann::json::object();
  for (const CounterValue& counter : counters) {
    if (counter.value != 0) out[std::string(counter.name)] = counter.value;
  }
  return out;
}

}  // namespace weft::daemon
