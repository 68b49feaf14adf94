// SPDX-License-Identifier: Apache-2.0
#include "wire/cm_values.h"

#include <array>

namespace weft::wire {
namespace {

constexpr std::array<std::string_view, 36> kReasons{
    "reason unknown to IBA",
    "no queue pair available",
    "no end-to-end context available",
    "no resources available",
    "timeout",
    "unsupported request",
    "invalid communication ID",
    "invalid communication instance",
    "invalid service ID",
    "invalid transport service type",
    "stale connection",
    "RDC does not exist",
    "primary remote port GID rejected",
    "primary remote port LID rejected",
    "invalid primary SL",
    "invalid primary traffic class",
    "invalid primary hop limit",
    "invalid primary packet rate",
    "alternate remote port GID rejected",
    "alternate remote port LID rejected",
    "invalid alternate SL",
    "invalid alternate traffic class",
    "invalid alternate hop limit",
    "invalid alternate packet rate",
    "port and CM redirection",
    "port redirection",
    "invalid path MTU",
    "insufficient responder resources",
    "consumer reject",
    "RNR retry count reject",
    "duplicate local communication ID",
    "invalid class version",
    "invalid primary flow label",
    "invalid alternate flow label",
    "reason unknown to IBA",
    "vendor option not supported",
};

}  // namespace

std::string_view to_string(CmMessage message) {
  constexpr std::array<std::string_view, 11> kNames{
      "REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};
  const auto index = static_cast<std::size_t>(message) - static_cast<std::size_t>(CmMessage::kReq);
  return index < kNames.size() ? kNames[index] : "unknown message";
}

std::string_view to_string(RejectReason reason) {
  const auto index = static_cast<std::size_t>(reason);
  return kReasons[index < kReasons.size() ? index : 0];
}

}  // namespace weft::wire
