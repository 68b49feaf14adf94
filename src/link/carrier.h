// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "link/credit.h"
#include "link/packet.h"
#include "wire/flow_control.h"

namespace weft::link {

class Port;

// One end of whatever carries a link: the other port itself, a ring, a UDP socket. It belongs to
// one port (Port::connect) and speaks to that port from inside of deliver() only, so no packet
// travels a fabric on one stack. When something is there to deliver it calls Port::wake().
class Carrier {
 public:
  virtual ~Carrier() = default;

  // Whether a packet may be sent now. An end with a line rate, or a full ring, says no; after the
  // next deliver() it may say yes. Flow-control packets are always taken.
  [[nodiscard]] virtual bool ready() const = 0;
  // Both kinds stay in the order in which they were sent. What is sent while the link is not
  // physically up is lost.
  virtual void send(PacketPtr packet, Time now) = 0;
  virtual void send(const wire::FlowControl& packet, Time now) = 0;

  // Whether the port looks for another one at the far end (IBA 14.2.5.6: physical state Polling,
  // and on to LinkUp) or does not (Sleep, Disabled). While both ends do, the link is physically up;
  // deliver() tells the ports.
  virtual void set_polling(bool polling, Time now) = 0;
  // The port finds that errors of the link come too often (IBA vol 1, 7.12.2): the link is to be
  // trained again, which Port::physical_recovers() tells. Nothing happens where the link has no
  // physical layer that trains, or is not up.
  virtual void retrain(Time /*now*/) {}
  // Symbols that arrived wrong at this end by then, since it exists (IBA 16.1.3.5,
  // SymbolErrorCounter), packets' own and those between them. A link that has no symbols says 0.
  [[nodiscard]] virtual std::uint64_t symbol_errors(Time /*now*/) const { return 0; }
  // While the link is physically up: how the port at the far end offers to count what it takes in
  // (PortOptions::credit_format). Nothing: it is any port, and counts as the standard does.
  [[nodiscard]] virtual std::optional<CreditFormat> far_format() const { return std::nullopt; }

  // How long the line is busy with so many bytes; nothing where there is no line rate.
  [[nodiscard]] virtual Duration time_on_line(std::size_t bytes) const = 0;
  // How long something small takes to the far end and its answer back, at most.
  [[nodiscard]] virtual Duration round_trip() const = 0;

  // Calls Port::receive() and the port's physical_...() for what has come to pass by now.
  virtual void deliver(Port& port, Time now) = 0;
  // When deliver() next has something to do without anybody's doing.
  [[nodiscard]] virtual std::optional<Time> deadline() const = 0;
};

}  // namespace weft::link
