// SPDX-License-Identifier: Apache-2.0
// What queue pairs of every transport service have in common, as their owner drives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "hca/datagram.h"
#include "hca/pkey_table.h"
#include "hca/qp_state.h"
#include "hca/types.h"

namespace weft::hca {

// Affiliated asynchronous events that a queue pair can raise (IBA 11.6.3). A bit mask.
enum QpEvent : std::uint32_t {
  kEventSqDrained = 1u << 0,
  kEventCommunicationEstablished = 1u << 1,  // the first packet of a connection arrived in RTR
  kEventPathMigrated = 1u << 2,
  kEventPathMigrationFailed = 1u << 3,
  kEventFatal = 1u << 4,
  kEventInvalidRequest = 1u << 5,  // the responder was sent what it cannot carry out
  kEventAccessError = 1u << 6,     // the responder was asked for what the peer may not do
  kEventLastWqe = 1u << 7,         // in error, and nothing more comes from the shared receive queue
};

// A queue pair without I/O, clock or lock. The owner serializes calls. Sending is in three steps,
// so that no lock need be held while the wire takes the packets: next_burst() picks what may go
// now, the owner hands it to a sink, sent() takes note. Everything else may be called in between.
// One burst is out at a time: while it is, next_burst() finds nothing more.
//
// Completion sinks must not call back.
class QueuePair {
 public:
  QueuePair() = default;
  virtual ~QueuePair() = default;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  [[nodiscard]] virtual Qpn qpn() const = 0;
  [[nodiscard]] virtual QpType type() const = 0;

  // Which port of the adapter it is on from now on: before a modify() that names that one. Until
  // the first call it is on port 1. In RESET or INIT only, and never while a burst is out.
  struct HomePort {
    std::uint8_t number = 1;
    PKeyTable* pkeys = nullptr;         // outlives it
    std::uint32_t max_mtu = 4096;       // bytes
    std::uint32_t max_datagram = 4096;  // bytes
  };
  virtual void move_to(const HomePort& port) = 0;

  // IBA 11.2.5.2. EINVAL with a message for a transition, a mask or a value that is not allowed.
  virtual Expected<void> modify(const QpAttributes& attributes, std::uint32_t mask) = 0;
  [[nodiscard]] virtual QpAttributes query() const = 0;
  [[nodiscard]] virtual QpState state() const = 0;

  // The peer may be sent Weft's extensions until the next reset, if this queue pair is connected as
  // `agreement` says; else nothing happens, and the owner says so again after modify().
  virtual void agree(const Agreement& agreement) { (void)agreement; }

  // Zero, or, in the order of the checks: EINVAL (state, opcode, too many pieces, inline too long,
  // …), ENOMEM (queue full). What else may be wrong shows when its turn comes, as a completion.
  virtual std::errc post_send(const SendRequest& request) = 0;
  virtual std::errc post_receive(const ReceiveRequest& request) = 0;
  // Requests were posted to the queue that it shares, for which it has asked to be told
  // (ReceiveSource::await_post).
  virtual void receives_posted() {}

  // How many more requests post_send() would take.
  [[nodiscard]] virtual std::size_t send_room() const = 0;

  // Fills `burst` with what may go now; false when nothing may. The memory that it refers to is
  // pinned until sent(): do not remove a region on this thread meanwhile. Call sent() exactly once
  // for each burst filled.
  virtual bool next_burst(Burst& burst, Time now) = 0;
  virtual void sent(const Burst& burst, SendResult result, Time now) = 0;

  // Whether next_burst() may have something. Look again after every other call.
  [[nodiscard]] virtual bool has_work() const = 0;
  // Whether has_work() only because positive acknowledgements are due. The owner may put them off a
  // little: with the next requests they cost no call of their own.
  [[nodiscard]] virtual bool only_acks_due() const { return false; }
  // From now on what was received is acknowledged before requests go that were posted later, as
  // adapters do, even in the middle of a run; otherwise an acknowledgement may go with a request.
  virtual void set_acks_first(bool first) { static_cast<void>(first); }
  // Of requests that were not sent yet.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  [[nodiscard]] virtual std::size_t queued_packets() const = 0;
  // Whether these are so much of the send queue that the peer had better begin: a program that
  // cannot post more before something completes would wait for it, and it for the program.
  [[nodiscard]] virtual bool queue_fills() const { return false; }

  // The program is in the midst of posting: what goes from now on need not ask for an answer that
  // nobody waits for, until it is said that the program has paused. Of use to reliable connections.
  virtual void expect_more(bool more) { static_cast<void>(more); }
  // Something has gone so: there will be work as soon as nothing more is expected.
  [[nodiscard]] virtual bool ask_waits() const { return false; }
  // Others have their turn at the wire: no request goes that has not been sent before, until it is
  // said that they may again. Of use to reliable connections.
  virtual void hold_requests(bool hold) { static_cast<void>(hold); }
  // Requests were sent and are not answered. Never, where nobody answers.
  [[nodiscard]] virtual bool awaits_answers() const { return false; }

  // A region that it wrote to may stay pinned until end_run(), so call that before this thread does
  // anything else.
  virtual void receive(const InDatagram& datagram, Time now) = 0;
  // Nothing more waits to be read just now: what was put off until then, such as one
  // acknowledgement for many packets, becomes work.
  virtual void end_run(Time now) { (void)now; }
  // The part of end_run(), which the owner is still to call, that cannot wait until a program has
  // seen a message and posted its answer. Whether the rest can: there is nothing to do for it but
  // perhaps to send an acknowledgement, which the next burst takes along in any case.
  virtual bool end_run_later(Time now) {
    (void)now;
    return false;
  }

  // The network reports a packet as not delivered, which this queue pair may have sent. Returns
  // whether it has, as far as can be told.
  virtual bool undelivered(const Undelivered& packet, Time now) {
    static_cast<void>(packet);
    static_cast<void>(now);
    return false;
  }
  // What the port can hold for this queue pair has changed: bytes by the cost rule of kPacketCost.
  // Of use to connections; see ConnectedConfig.
  virtual void set_receive_budget(std::uint32_t bytes) { (void)bytes; }

  // When next_burst() should be called again though nothing happened; none: no need.
  [[nodiscard]] virtual std::optional<Time> deadline() const = 0;

  // Multicast groups (IBA 10.5.2): datagram queue pairs only.
  virtual Expected<void> attach(const Gid& group) = 0;
  virtual Expected<void> detach(const Gid& group) = 0;

  // QpEvents since the last call. The owner asks after every other call and raises them.
  virtual std::uint32_t take_events() = 0;
  [[nodiscard]] virtual std::vector<CounterValue> counter_values() const = 0;
};

}  // namespace weft::hca
