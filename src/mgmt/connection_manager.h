// SPDX-License-Identifier: Apache-2.0
// The communication manager of IBA chapter 12 as a core: no I/O, no clock, no thread. Its owner
// serializes the calls, hands in management datagrams and the time, and carries datagrams away.
//
//   active side                               passive side
//     connect()      --- REQ -->                ConnectRequest
//     ConnectResponse <-- REP ---               accept()
//     ready()        --- RTU -->                Established
//     disconnect()   --- DREQ -->               Disconnected{kPeer}
//     Disconnected{kOurs} <-- DREP ---          (by itself)
//     TimewaitExit                              TimewaitExit
//
// Lost messages are sent again, repeated ones answered as before, and what comes for nobody, in the
// wrong state or from the wrong address is counted and dropped or refused as IBA 12.9 says. What
// peers can make it remember is bounded by CmLimits.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>

#include "base/bytes.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "mgmt/cm_counters.h"
#include "mgmt/cm_early.h"
#include "mgmt/cm_events.h"
#include "mgmt/cm_listeners.h"
#include "mgmt/cm_outbox.h"
#include "mgmt/cm_parameters.h"
#include "mgmt/cm_state.h"
#include "mgmt/cm_table.h"
#include "mgmt/local_ends.h"
#include "wire/cm_alternate.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_refuse.h"
#include "wire/cm_sidr.h"

namespace weft::mgmt {

struct CmConfig {
  CmLimits limits;
  std::uint8_t packet_lifetime = 18;  // exponent, 0..31: longest time a packet is under way
  // An unanswered message is sent again after this, then after twice as long, and so on until the
  // interval is what the standard says; from there on retries are counted. 0: only as the standard
  // says. Any peer must bear repeated messages, and 1 % of loss costs half a second, not six.
  Duration first_retry = 500ms;
  // Service timeout, an exponent, of the MRAs that answer repeated messages while the consumer
  // thinks. Linux uses 24, 69 s.
  std::uint8_t mra_timeout = 24;
  // A request for a service that nobody listens for is refused after this, unless somebody listens
  // by then: servers may tell their clients too early to come. 0: at once.
  Duration early_patience = 0ms;
};

class ConnectionManager {
  struct Arrival {
    std::uint64_t transaction;
    const hca::Path& from;
    PKey pkey;  // that it came with
    Time now;
    Bytes mad;          // all of it
    bool early = true;  // it may wait for a listener; false: it has
  };

 public:
  // Keeps what it is given, which must live as long as it does. `events` hears of whatever names no
  // sink of its own; null: all that share the manager name theirs.
  ConnectionManager(const CmConfig& config, const LocalEnds& ends, Entropy& entropy, MadSink& mads,
                    EventSink* events = nullptr);
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;
  ~ConnectionManager() = default;

  // All calls that take an id fail with no_such_file_or_directory when there is none such, with
  // invalid_argument when a parameter is out of its range (the message names it), and with
  // not_connected when the state does not allow them. A call that fails changes and sends nothing.

  // address_in_use: another listener would take the same requests.
  // too_many_files_open: CmLimits::listeners.
  Expected<CmId> listen(const ListenParameters& parameters);

  // Sends REQ. Events to come: ConnectResponse, Rejected or Unreachable; MoreTime between.
  // address_not_available: path.sgid is not ours. too_many_files_open: CmLimits::ids.
  Expected<CmId> connect(const ConnectParameters& parameters, Time now);

  // After ConnectRequest: sends REP. Events to come: Established, Rejected or Unreachable. Have the
  // queue pair in RTR before: the peer may send as soon as it has the REP.
  Expected<void> accept(CmId id, const AcceptParameters& parameters, Time now);

  // After ConnectResponse: sends RTU (private data at most 224 bytes). The connection is
  // established when this returns.
  Expected<void> ready(CmId id, Bytes private_data, Time now);

  // After ConnectRequest or ConnectResponse, or between accept() and Established: sends REJ. The id
  // is kIdle then.
  Expected<void> reject(CmId id, const RejectParameters& parameters, Time now);

  // After ConnectRequest, ConnectResponse or AlternatePathRequest: asks the peer to wait for
  // another 4.096 us * 2^service_timeout (0..31). Private data at most 222 bytes. Not needed for
  // the peer's patience as such: repeated messages are answered so anyway.
  Expected<void> mra(CmId id, std::uint8_t service_timeout, Bytes private_data, Time now);

  // The queue pair of an accepted connection has received something, so the peer is ready although
  // its RTU is not here (IBA 12.9.7.2). Event to come: Established. Nothing happens when the
  // connection is established already.
  Expected<void> notify_established(CmId id);

  // Sends DREQ with private data of at most 220 bytes, from kEstablished, kRepSent or
  // kRepReceived. Event to come: Disconnected. Nothing is sent when the connection has ended or is
  // ending already.
  Expected<void> disconnect(CmId id, Bytes private_data, Time now);

  // Sends LAP (IBA 12.8). Events to come: AlternatePathReply or Unreachable; MoreTime between. One
  // at a time: operation_in_progress. Only the side that called connect(): operation_not_permitted.
  Expected<void> load_alternate_path(CmId id, const AlternatePathParameters& parameters, Time now);
  // After AlternatePathRequest: sends APR.
  Expected<void> reply_alternate_path(CmId id, const AlternatePathAnswer& answer, Time now);
  // The queue pair has moved to its alternate path: messages take that path from here on.
  Expected<void> notify_migrated(CmId id);

  // Sends SIDR_REQ. Events to come: SidrReply or Unreachable. Errors as connect().
  Expected<CmId> sidr_request(const SidrParameters& parameters, Time now);
  // After SidrRequest: sends SIDR_REP. The id is kIdle then; the answer is remembered for a while
  // even if it is destroyed, so that a repeated question gets the same one.
  Expected<void> sidr_reply(CmId id, const SidrAnswer& answer, Time now);

  // Forgets an id, whatever its state: no event of it comes any more. The peer is told what it must
  // know: REJ before a connection stands, DREQ (with retries) when it does. A listener's requests
  // that wait for an answer stay. Unknown ids are ignored.
  void destroy(CmId id, Time now);

  // For the id's events from here on; a new connection has its listener's value.
  Expected<void> set_user(CmId id, std::uint64_t user);
  // Who it belongs to, a number of the consumer's: kept when it is destroyed, for what is still to
  // come and go. 0: nobody.
  Expected<void> set_owner(CmId id, std::uint64_t owner);
  // Whose a message is that is on its way along `to`.
  [[nodiscard]] std::uint64_t owner_of_leaving(Bytes mad, const hca::Path& to);
  // Whose a message is that has come by `from`, before receive(); 0 for the first one of a
  // request, which may have a listener.
  [[nodiscard]] std::uint64_t owner_of_arriving(Bytes mad, const hca::Path& from);
  // Who listens for such requests to an address of ours; 0: nobody.
  [[nodiscard]] CmId listener_for(ServiceId service, const Gid& address) const {
    return listeners_.match(service, address);
  }

  // Nothing for an unknown id.
  [[nodiscard]] std::optional<CmState> state(CmId id) const;

  // What to modify for the step of the connection's queue pair to `to`: kInit at any time; kRtr and
  // kRts once the peer's REQ or REP is here. Before accept() the passive side's own numbers are
  // what the peer wishes for and the PSN that accept() will send if it is given none. After an
  // alternate path was agreed on (LAP), kRts loads and arms it.
  [[nodiscard]] Expected<QpTransition> qp_attributes(CmId id, hca::QpState to) const;

  // A datagram of class CommMgt came to QP 1, or anything else: what is not a message of the
  // communication manager is counted and dropped. `from` is the way back: `dgid` its sender, `sgid`
  // the address of ours that it came to; on a fabric the sender is `dlid`. `pkey`: that it came
  // with, kDefaultPKey on wires of IP; what answers it without a connection goes back in it.
  void receive(Bytes mad, const hca::Path& from, PKey pkey, Time now);

  // The network says that a datagram to `destination` did not arrive, and quotes `mad`, its front.
  // Anybody may say so: it is believed of a message that waits for an answer, by who knows its IDs,
  // and once each of kMostUndelivered times in a row that it was sent; then the exchange ends as if
  // its retries were used up.
  void undelivered(Bytes mad, const Gid& destination, Time now);

  // When expire() wants to be called; nothing when no timer runs.
  [[nodiscard]] std::optional<Time> deadline() const;
  void expire(Time now);

  // Listeners are not counted.
  [[nodiscard]] std::size_t ids() const { return table_.size(); }
  [[nodiscard]] const CmCounters& counters() const { return counters_; }

  // What both ends have agreed on: Extension bits. After accept() and ConnectResponse.
  [[nodiscard]] std::uint16_t agreed_extensions(CmId id) const;

 private:
  using What = decltype(CmEvent::what);

  // connection_manager.cc
  [[nodiscard]] CmId draw_id();
  [[nodiscard]] Psn draw_psn() { return Psn{static_cast<std::uint32_t>(entropy_.draw())}; }
  [[nodiscard]] Expected<CmRoute> route_of(const hca::Path& path, std::uint8_t ack_timeout) const;
  // The entry, if there is one and it is in one of `states`.
  [[nodiscard]] Expected<CmEntry*> in_state(CmId id, std::initializer_list<CmState> states);
  void emit(CmEntry& entry, const What& what);
  void deliver_events(Time now);
  void handle(Bytes mad, const hca::Path& from, PKey pkey, Time now, bool early);
  void dispatch(wire::CmMessage message, Bytes body, const Arrival& at);
  template <class Message>
  void parse_and_handle(Bytes body, const Arrival& at);
  void on_deadline(CmEntry& entry, Time now);
  void give_up(CmEntry& entry, Time now);
  // The end of a connection or exchange; an orphan is gone when this returns.
  void finish(CmEntry& entry);
  void leave_backlog(CmEntry& entry);
  // The connection that a message with these IDs belongs to, if its sender is the peer; counts the
  // message when there is none.
  [[nodiscard]] CmEntry* addressee(wire::CommId ours, wire::CommId theirs, const Arrival& at);
  // A new entry in the backlog of the listener that a request is for; else why not, counted.
  [[nodiscard]] tl::expected<CmEntry*, RejectReason> admit(ServiceId service, const Gid& address);
  // Whether a request that nobody listens for waits; else it is counted, and refused.
  [[nodiscard]] bool waits_for_listener(EarlyRequests::Request request, const Arrival& at);
  // How long a peer may take that says 2^exponent, there and back included.
  [[nodiscard]] Duration patience(std::uint8_t exponent) const;

  // cm_undelivered.cc
  // What waits for an answer to the message that is quoted; null: nothing does.
  [[nodiscard]] CmEntry* quoted(Bytes mad, const Gid& destination);

  // cm_active.cc, cm_passive.cc
  void on(wire::CmReq req, const Arrival& at);
  void begin(CmEntry& entry, wire::CmReq& req, const Arrival& at);
  // Why a REQ is refused whoever listens for it.
  [[nodiscard]] std::optional<RejectReason> flaw(const wire::CmReq& req, const Arrival& at) const;
  void on_repeated(CmEntry& entry);
  // The peer's queue pair is not what this connection thinks it is.
  void break_stale(CmEntry& entry, Time now);
  void refuse(const wire::CmReq& req, RejectReason reason, const Arrival& at);
  void refuse(const wire::CmRep& rep, RejectReason reason, const Arrival& at);
  void on(wire::CmRep rep, const Arrival& at);
  void on_first(CmEntry& entry, wire::CmRep& rep, Time now);
  void on(const wire::CmRtu& rtu, const Arrival& at);
  // cm_refuse.cc
  void on(const wire::CmMra& mra, const Arrival& at);
  void on(const wire::CmRej& rej, const Arrival& at);
  // Ends the connection with a REJ, which is sent again when the peer repeats what it refuses.
  void send_reject(CmEntry& entry, wire::CmRej rej);
  // cm_disconnect.cc
  void on(const wire::CmDreq& dreq, const Arrival& at);
  void on(const wire::CmDrep& drep, const Arrival& at);
  void send_dreq(CmEntry& entry, Bytes private_data, Time now);
  void enter_timewait(CmEntry& entry, Disconnected why, Time now);
  // cm_alternate.cc
  void on(const wire::CmLap& lap, const Arrival& at);
  void on(const wire::CmApr& apr, const Arrival& at);
  Expected<void> answer(CmEntry& entry, const AlternatePathAnswer& answer);
  // cm_sidr.cc
  void on(const wire::CmSidrReq& req, const Arrival& at);
  void on(const wire::CmSidrRep& rep, const Arrival& at);

  CmConfig config_;
  const LocalEnds& ends_;
  Entropy& entropy_;
  EventSink* events_;
  CmCounters counters_;
  CmTable table_;
  CmOutbox out_;
  CmListeners listeners_;
  EarlyRequests early_;
  std::deque<CmEvent> waiting_events_;
};

}  // namespace weft::mgmt
