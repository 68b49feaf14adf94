// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "io/udp_socket.h"
#include "port/port.h"
#include "port/udp/lease.h"
#include "port/udp/wire_rules.h"

namespace weft::port {

constexpr std::uint8_t slot_of(Qpn qpn) {
  return static_cast<std::uint8_t>(qpn.value() >> kSlotShift);
}

// A share of UDP port 4791: a socket that gets the packets whose DestQP has `number` in bits 16-23.
struct Slot {
  std::uint8_t number = 0;
  io::UdpSocket socket;
  Lease lease;  // ends when the slot may be another's
  // What is heard about connections of its queue pairs. None without a connection manager.
  std::shared_ptr<Agreements> agreements{};
};

// Who hands out slots: the host agent, for all processes of a host, or a process for itself.
class SlotSource {
 public:
  virtual ~SlotSource() = default;
  // A slot for the queue pairs of one port. ENOMEM when all are taken, EADDRINUSE when somebody
  // else has UDP port 4791.
  virtual Expected<Slot> take() = 0;
  // Slot 0, where queue pair 1 is. EADDRINUSE when it is taken.
  virtual Expected<Slot> take_management() = 0;
};

}  // namespace weft::port
