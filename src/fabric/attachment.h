// SPDX-License-Identifier: Apache-2.0
// A program on a port of a channel adapter: what an adapter's hardware does for it. It has queue
// pair numbers of its own, is given what arrives for them, and may send as the port and as itself
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "fabric/raw_rule.h"
#include "link/packet.h"

namespace weft::fabric {

// What one program may have at a time.
inline constexpr std::size_t kMostQueuePairs = 16'384;
inline constexpr std::size_t kMostJoins = 16'384;  // a queue pair in a multicast group
// How long a packet waits for a program that has no room for it.
inline constexpr Duration kProgramPatience = 250ms;

// What carries packets to the program. Calls come from inside the fabric's run() and from inside
// Attachment::resume(). Inside of them nobody is attached or detached; sending is allowed.
class Program {
 public:
  virtual ~Program() = default;
  // Takes the packet, which has passed every check of the adapter. Null stays in `packet` when it
  // was taken; otherwise there is no room, and the packet waits, in order, until
  // Attachment::resume() says that there is some. What waits for kProgramPatience is dropped, and
  // so is all that comes until then: who does not take its packets holds up those of others.
  virtual void deliver(link::PacketPtr& packet, Time now) = 0;
  // The same for one of its raw queue pairs: the packet is as it came, with the VL that it had.
  virtual void deliver_raw(link::PacketPtr& packet, Qpn to, Time now) {
    static_cast<void>(to);
    deliver(packet, now);
  }
  // After a send() that was answered by kNotNow: try again.
  virtual void may_send(Time now) = 0;
  // PortInfo, GIDs or P_Keys of the port are others: Attachment::epoch() is. Several changes may
  // come as one. `reregister`: the subnet manager wants subscriptions anew (IBA 14.4.11).
  virtual void port_changed(bool reregister, Time now) = 0;
};

enum class Sent : std::uint8_t {
  kTaken,   // it is on its way, or was dropped for a counted reason
  kNotNow,  // so much waits at the port already: the packet is still the caller's
  kForged,  // it says what the program is not, or what no program may: counted, and to be cut off
};

class Attachment {
 public:
  using Groups = std::vector<Gid>;

  // Detaches: the numbers are free, what waited for the program is dropped, what it has sent still
  // arrives. Before the fabric goes.
  virtual ~Attachment() = default;
  // not_enough_memory: the program has kMostQueuePairs, or all numbers are in use.
  virtual Expected<Qpn> allocate() = 0;
  // Leaves its multicast groups too. What waits for the program already may still be delivered.
  // invalid_argument: it is not this program's.
  virtual Expected<void> release(Qpn qpn) = 0;
  [[nodiscard]] virtual bool owns(Qpn qpn) const = 0;
  // Its queue pair is on another port of the adapter from now on, where the program is, too, and in
  // its multicast groups there; a raw one is no raw one any more. What was sent from it and comes
  // to send() later is dropped. invalid_argument, not_enough_memory: as of release() here, and of
  // allocate() and join() there.
  virtual Expected<void> hand_over(Qpn qpn, Attachment& to) = 0;
  // By hand_over().
  virtual Expected<void> take_over(Qpn qpn, const Groups& groups) = 0;
  // Joining twice is joining once. invalid_argument: not its queue pair, or not an MGID.
  // not_enough_memory: the program has kMostJoins.
  virtual Expected<void> join(Qpn qpn, const Gid& group) = 0;
  // invalid_argument: it is not a member.
  virtual Expected<void> leave(Qpn qpn, const Gid& group) = 0;
  // Makes it a raw one: what diverts says comes to it, and it sends packets of whomever, but for
  // subnet management. operation_not_permitted: the node carries no data service. invalid_argument:
  // it is not this program's.
  virtual Expected<void> make_raw(Qpn qpn) = 0;
  // Which packets come to it; queue pairs that ask for the same ones share them, flow by flow.
  // invalid_argument: it is no raw queue pair of this program's; else as RawQueuePairs has it.
  virtual Expected<void> divert(Qpn qpn, const RawRule& rule) = 0;
  virtual Expected<void> restore(Qpn qpn, const RawRule& rule) = 0;
  // Which facts of the port hold: PortInfo, GIDs and P_Keys. 1 and up.
  [[nodiscard]] virtual std::uint32_t epoch() const = 0;
  // `source` is the queue pair that it says it comes from. All headers up to the DETH lie in the
  // packet's header. A packet whose `epoch` is an older one is dropped where it no longer agrees
  // with the port, since the program cannot have known. The LRH's VL does not count, but for 15.
  virtual Sent send(link::PacketPtr& packet, Qpn source, std::uint32_t epoch, Time now) = 0;
  // There is room for what deliver() did not take.
  virtual void resume(Time now) = 0;
};

}  // namespace weft::fabric
