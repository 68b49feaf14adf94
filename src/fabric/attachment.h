// SPDX-License-Identifier: Apache-2.0
// A program on a port of a channel adapter: what an adapter's hardware does for it. It has queue
// pair numbers of its own, is given what arrives for them, and may send as the port and as itself
// only.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "link/packet.h"

namespace weft::fabric {

// What carries packets to the program. Calls come from inside the fabric's run() and from
// Attachment::send().
class Program {
 public:
  virtual ~Program() = default;
  // Takes the packet, which has passed every check of the adapter. Null stays in `packet` when it
  // was taken; otherwise there is no room: Attachment::resume() says that there is some.
  virtual void deliver(link::PacketPtr& packet, Time now) = 0;
  // After a send() that was answered by kNotNow: try again.
  virtual void may_send(Time now) = 0;
  // PortInfo, GIDs or P_Keys of the port are others: Attachment::epoch() is.
  virtual void port_changed(bool reregister, Time now) = 0;
};

enum class Sent : std::uint8_t {
  kTaken,   // it is on its way, or was dropped for a counted reason
  kNotNow,  // so much waits at the port already: the packet is still the caller's
  kForged,  // it says what the program is not, or what no program may: counted, and to be cut off
};

class Attachment {
 public:
  virtual ~Attachment() = default;  // detaches
  // not_enough_memory: all numbers are in use.
  virtual Expected<Qpn> allocate() = 0;
  // invalid_argument: it is not this program's.
  virtual Expected<void> release(Qpn qpn) = 0;
  virtual Expected<void> join(Qpn qpn, const Gid& group) = 0;
  virtual Expected<void> leave(Qpn qpn, const Gid& group) = 0;
  // Whether packets made by facts of `epoch` must agree with the port as it is.
  [[nodiscard]] virtual std::uint32_t epoch() const = 0;
  // `source` is the queue pair that it says it comes from. A packet whose `epoch` is an older one
  // is dropped where it no longer agrees with the port, since the program cannot have known.
  virtual Sent send(link::PacketPtr& packet, Qpn source, std::uint32_t epoch, Time now) = 0;
  // There is room for what deliver() did not take.
  virtual void resume(Time now) = 0;
};

}  // namespace weft::fabric
