// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/device_absence.h"

#include <fmt/format.h>

#include "io/log.h"

namespace weft::daemon {

bool DeviceAbsence::look(io::EthernetDevice& device, Time now) {
  if (!device.away() || (next_ && now < *next_)) return false;
  if (device.come_back()) {
    next_.reset();
    if (!std::exchange(gone_, false)) return false;
    io::log(io::LogLevel::kError, interface_ + ": it is there again");
    return true;
  }
  next_ = now + kPeriod;
  if (gone_ || device.mtu() != 0) return false;
  gone_ = true;
  io::log(io::LogLevel::kError, fmt::format("{}: it was taken away; no {} are reached through it "
                                            "before it is there again",
                                            interface_, others_));
  return false;
}

void DeviceAbsence::give_up() const {
  io::log(io::LogLevel::kError,
          fmt::format("{}: it was taken away; no {} are reached through it", interface_, others_));
}

}  // namespace weft::daemon
