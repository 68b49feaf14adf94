// SPDX-License-Identifier: Apache-2.0
// A port as the bench sees it: what it is told, and what it says. Whoever has another
// implementation of the protocol puts it behind this, and has it judged.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"
#include "phy/link_speed.h"
#include "phy/negotiation/options.h"
#include "phy/negotiation/port_speeds.h"
#include "phy/negotiation/serdes_control.h"
#include "wire/mad.h"

namespace weft::phy::conformance {

// Where a port's MADs go: to the port at the other end, on VL15 from QP0 to QP0.
class PortOutput {
 public:
  virtual ~PortOutput() = default;
  virtual void send(wire::MadBytes mad, Time now) = 0;
};

// All of it is called by one bench, in the order of time. A port commands its SerDes and sends
// from within these calls, and is not called back from there.
class Port {
 public:
  virtual ~Port() = default;

  // It is switched on: its link is down, and is to be trained.
  virtual void start(Time now) = 0;
  // The link is up at the speed that the port has set its lines to, or is so no longer.
  virtual void link_up(LinkSpeed speed, Time now) = 0;
  virtual void link_down(Time now) = 0;
  virtual void receive(wire::MadBytes mad, Time now) = 0;
  // Due at deadline().
  virtual void expire(Time now) = 0;
  [[nodiscard]] virtual std::optional<Time> deadline() const = 0;

  // What it answers a subnet manager: that LinkPhyState is Polling and LinkState Down (clause 2.2),
  // and its speeds (clause 2.1.4).
  [[nodiscard]] virtual bool polling() const = 0;
  [[nodiscard]] virtual PortSpeeds speeds() const = 0;
};

// `serdes` and `output` outlive the port. Of a sweep, set_transmit begins an iteration.
using MakePort = std::function<std::unique_ptr<Port>(const NegotiationOptions& options,
                                                     SerdesControl& serdes, PortOutput& output)>;

// Weft's own, `phy/negotiation`.
[[nodiscard]] std::unique_ptr<Port> make_weft_port(const NegotiationOptions& options,
                                                   SerdesControl& serdes, PortOutput& output);

}  // namespace weft::phy::conformance
