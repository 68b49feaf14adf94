// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "phy/link_speed.h"

namespace weft::phy {

// What is on the lines of a port.
enum class LineUse : std::uint8_t {
  kTrain,  // train the link, and use it when it is up
  kIdle,   // send idle data without training, for the other end to measure
};

// What a lane received since its receive configuration was set.
struct LaneMeasurement {
  bool matched = false;             // symbols are aligned and of the expected kind
  std::uint64_t symbol_errors = 0;  // codes and disparities that cannot be
  double eye = 0;                   // how good it is, larger is better; any unit, of one SerDes

  friend bool operator==(const LaneMeasurement&, const LaneMeasurement&) = default;
};

// The SerDes of all lanes of a port. Implementations do not call the negotiation back from here:
// that a link went down or came up is told later, by link_down and link_up.
class SerdesControl {
 public:
  virtual ~SerdesControl() = default;

  virtual void set_line(LinkSpeed speed, LineUse use) = 0;
  // All lanes send with the transmit configuration of this number, from 0.
  virtual void set_transmit(unsigned configuration) = 0;
  // One lane receives with the receive configuration of this number, and counts errors anew.
  virtual void set_receive(unsigned lane, unsigned configuration) = 0;
  [[nodiscard]] virtual LaneMeasurement measure(unsigned lane) = 0;
};

}  // namespace weft::phy
