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
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "mgmt/cm_counters.h"
#include "mgmt/cm_events.h"
#include "mgmt/cm_parameters.h"

namespace weft::mgmt {

inline constexpr std::size_t kMadSize = 256;  // IBA 13.4.2

// Carries a management datagram to QP 1 at the other end of `to` (source QP 1, Q_Key kGsiQKey). May
// lose it; must not call the manager back.
class MadSink {
 public:
  virtual ~MadSink() = default;
  virtual void send(const hca::Path& to, std::span<const std::byte, kMadSize> mad) = 0;
};

// What an address of ours stands for.
struct LocalEnd {
  Guid ca_guid{};               // node GUID of the device that has it
  std::uint8_t port = 1;        // port number, for queue pair attributes
  std::uint8_t sgid_index = 0;  // in that port's GID table
  std::uint32_t scope_id = 0;   // interface index, for link-local addresses
};

// Knows the addresses of this end. They may come and go. Must not call the manager back.
class LocalEnds {
 public:
  virtual ~LocalEnds() = default;
  // Nothing when `address` is not ours.
  [[nodiscard]] virtual std::optional<LocalEnd> find(const Gid& address) const = 0;
};

struct CmLimits {
  // Connections, SIDR exchanges and timewaits together; a new one beyond is refused (with reason
  // kNoResources to a peer, std::errc::too_many_files_open to the consumer).
  std::uint32_t ids = 32768;
  // How many of those may have begun with a message of a peer.
  std::uint32_t passive_ids = 24576;
  std::uint32_t listeners = 4096;
};

struct CmConfig {
  CmLimits limits;
  std::uint8_t packet_lifetime = 18;  // exponent, 0..31: longest time a packet is under way
  // Service timeout, an exponent, of the MRAs that answer repeated messages while the consumer
  // thinks. Linux uses 24, 69 s.
  std::uint8_t mra_timeout = 24;
};

// Where a connection is, from the consumer's side (IBA 12.9.7, figures 138 and 139).
enum class CmState : std::uint8_t {
  kIdle,  // over, or not begun: destroy() it
  kListen,
  kReqSent,      // until ConnectResponse
  kReqReceived,  // until accept() or reject()
  kRepSent,      // until Established
  kRepReceived,  // until ready() or reject()
  kEstablished,
  kDreqSent,      // until Disconnected
  kTimewait,      // until TimewaitExit
  kSidrSent,      // until SidrReply
  kSidrReceived,  // until sidr_reply()
};

const char* to_string(CmState state);

class ConnectionManager {
 public:
  // Keeps the references, which must live as long as it does.
  ConnectionManager(const CmConfig& config, const LocalEnds& ends, Entropy& entropy, MadSink& mads,
                    EventSink& events);
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;
  ~ConnectionManager();

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
  // Nothing for an unknown id.
  [[nodiscard]] std::optional<CmState> state(CmId id) const;

  // What to modify for the step of the connection's queue pair to `to`: kInit at any time; kRtr
  // after ConnectRequest (with the passive side's numbers once accept() was called, else the
  // peer's wishes) or ConnectResponse; kRts after accept() or ConnectResponse. Or kSqd, for a
  // queue pair that shall take over the alternate path (path migration: rearm). P_Key index is 0.
  [[nodiscard]] Expected<QpTransition> qp_attributes(CmId id, hca::QpState to) const;

  // A datagram of class CommMgt came to QP 1, or anything else: what is not a message of the
  // communication manager is counted and dropped. `from` is the way back: `dgid` its sender, `sgid`
  // the address of ours that it came to.
  void receive(Bytes mad, const hca::Path& from, Time now);

  // When expire() wants to be called; nothing when no timer runs.
  [[nodiscard]] std::optional<Time> deadline() const;
  void expire(Time now);

  // Listeners are not counted.
  [[nodiscard]] std::size_t ids() const;
  [[nodiscard]] const CmCounters& counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::mgmt
