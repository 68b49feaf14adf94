// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "io/ethernet_device.h"

namespace weft::daemon {

// Looks for an interface that has gone away, until it is there again: machines take interfaces away
// and make them anew, as when a driver is loaded again. Says both in the log.
class DeviceAbsence {
 public:
  // `others`: whom the interface reaches, in the plural, for messages: "hosts".
  DeviceAbsence(std::string interface, std::string_view others)
      : interface_(std::move(interface)), others_(others) {}

  [[nodiscard]] const std::string& interface() const { return interface_; }

  // After frames were received, and when it is due. Whether an interface that had gone is back; one
  // that was only down is no news.
  bool look(io::EthernetDevice& device, Time now);
  // Says that it will not be looked for any more.
  void give_up() const;
  // Nothing: it is there.
  [[nodiscard]] std::optional<Time> deadline() const { return next_; }

 private:
  static constexpr Duration kPeriod = 1s;
  std::string interface_;
  std::string_view others_;
  std::optional<Time> next_;
  bool gone_ = false;
};

}  // namespace weft::daemon
