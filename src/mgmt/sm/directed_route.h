// SPDX-License-Identifier: Apache-2.0
// Directed routes, IBA 14.2.2: subnet management packets that name the ports of their way, before
// any LID is there. Both ends of the way may be routed by LID, the part between by ports:
//
//   requester --LID--> switch --ports--> … --ports--> switch --LID--> responder
//             (DrSLID is not permissive)             (DrDLID is not permissive)
//
// HopPointer says how far it has come. A switch writes the port of arrival into ReturnPath, which
// the answer goes back by.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "mgmt/mad_envelope.h"
#include "wire/mad.h"

namespace weft::mgmt {

struct DirectedStep {
  enum class Kind : std::uint8_t {
    kDeliver,  // it is for this node
    kPort,     // sent on by `port`, with permissive LIDs
    kLid,      // sent on by the forwarding table, to `lid`
    kDiscard,
  };
  Kind kind = Kind::kDiscard;
  PortNumber port = 0;
  Lid lid{};
  friend bool operator==(const DirectedStep&, const DirectedStep&) = default;
};

struct RouteElement {
  bool is_switch = false;
  std::uint8_t ports = 0;  // NumPorts
};

// What came in at `arrival` (0: from a switch's own port 0, of a LID-routed part): C14-9 and
// C14-13. Changes HopPointer and ReturnPath; what is discarded may be left half changed.
[[nodiscard]] DirectedStep step_arrived(wire::MutableMadBytes smp, PortNumber arrival,
                                        const RouteElement& element);

// What a manager or agent at port `from` of the node sends: a request of its own, or the answer to
// one that was delivered here. kDeliver: it is for the node itself.
[[nodiscard]] DirectedStep step_sent(wire::MutableMadBytes smp, PortNumber from,
                                     const RouteElement& element);

}  // namespace weft::mgmt
