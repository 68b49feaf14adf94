// SPDX-License-Identifier: Apache-2.0
// What the reports of programs and of the host agent have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/counters.h"
#include "hca/types.h"

namespace weft::host {

// "RC", "XRC_INI", …: iproute2's names.
inline const char* type_name(hca::QpType type) {
  switch (type) {
    case hca::QpType::kUd:
      return "UD";
    case hca::QpType::kRc:
      return "RC";
    case hca::QpType::kUc:
      return "UC";
    case hca::QpType::kXrcInitiator:
      return "XRC_INI";
    case hca::QpType::kXrcTarget:
      return "XRC_TGT";
    case hca::QpType::kRaw:
      return "RAW_PACKET";
  }
  return "unknown";
}

// {"rx_packets": 12, …}, zeros too.
inline nlohmann::json counters_json(std::span<const CounterValue> counters) {
  nlohmann::json out = nlohmann::json::object();
  for (const CounterValue& counter : counters)
    out[std::string(counter.name)] = counter.value;
  return out;
}

// One line, always valid UTF-8.
inline std::string dump(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace weft::host
