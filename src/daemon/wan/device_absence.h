// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "base/time.h"
#include "io/ethernet_device.h"

namespace weft::daemon {

// Looks for an interface that has gone away, until it is there again: machines take interfaces away
// and make them anew, as when a driver is loaded again.
class DeviceAbsence {
 public:
  enum class News { kNone, kGone, kBack };

  // After frames were received, and when it is due. kBack comes only after kGone: one that was down
  // is no news.
  News look(io::EthernetDevice& device, Time now) {
    if (!device.away() || (next_ && now < *next_)) return News::kNone;
    if (device.come_back()) {
      next_.reset();
      const bool was_gone = std::exchange(gone_, false);
      return was_gone ? News::kBack : News::kNone;
    }
    next_ = now + kPeriod;
    if (gone_ || device.mtu() != 0) return News::kNone;
    gone_ = true;
    return News::kGone;
  }
  // Nothing: it is there.
  [[nodiscard]] std::optional<Time> deadline() const { return next_; }

 private:
  static constexpr Duration kPeriod = 1s;
  std::optional<Time> next_;
  bool gone_ = false;
};

}  // namespace weft::daemon
