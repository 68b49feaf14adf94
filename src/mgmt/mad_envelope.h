// SPDX-License-Identifier: Apache-2.0
// A management datagram on its way, and whoever takes it there.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "wire/grh.h"
#include "wire/mad.h"

namespace weft::mgmt {

// A port as PortInfo counts them: 1 to NumPorts; 0 is the management port of a switch.
using PortNumber = std::uint8_t;

// The headers of the packet around a datagram.
struct MadEnvelope {
  // Of one that came in: the port it came in by; 0: a switch's own port 0 sent it.
  // Of one to send: the port it leaves by; 0 on a switch: the one that the forwarding table has for
  // `dlid`. Directed routes name a port and have permissive LIDs.
  PortNumber port = 0;
  Lid slid{};
  Lid dlid{};
  Sl sl{};
  Qpn source_qp{};
  Qpn dest_qp{};  // QP 0 means VL15
  QKey qkey{};    // 0 on QP 0
  PKey pkey = kDefaultPKey;
  std::optional<wire::Grh> grh{};  // lengths and next header are filled in by whoever sends it

  friend bool operator==(const MadEnvelope&, const MadEnvelope&) = default;
};

// The node's way out: makes a UD SEND Only packet of it and hands it to a port. May lose it, and
// must not call back into management from inside.
class MadOutlet {
 public:
  virtual ~MadOutlet() = default;
  virtual void send(const MadEnvelope& envelope, wire::MadBytes mad) = 0;
};

}  // namespace weft::mgmt
