// SPDX-License-Identifier: Apache-2.0
// What the users of a port's MAD layer say and are told: programs behind libibumad, and the
// managers inside the daemon.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "wire/mad.h"

namespace weft::mgmt {

// Of one port; never used again for another agent.
using AgentId = Id<struct AgentIdTag, std::uint32_t, 32>;

// What an agent wants to receive.
struct AgentRequest {
  static constexpr std::size_t kMethods = 128;

  wire::MgmtClass mgmt_class{};  // kSubnLid and kSubnDirected: queue pair 0; all others: 1
  std::uint8_t class_version = 1;
  std::array<std::uint8_t, 3> oui{};  // counts for the classes 0x30 to 0x4F only
  // Requests that nobody here has asked for, by method; none: answers to its own requests only.
  std::bitset<kMethods> methods{};
  // Messages longer than a datagram are cut up and put together here (RMPP, IBA 13.6); otherwise
  // the agent sees every segment and acknowledges by itself.
  bool rmpp = false;
  // TransactionIDs stay what they are. Otherwise the upper half of a request's becomes the agent,
  // by which answers find back to it; peers whose messages all carry the same one need theirs.
  bool own_transactions = false;
};

// The global part of an address: there is a GRH.
struct GlobalAddress {
  Gid gid{};                     // of the other end
  std::uint8_t gid_index = 0;    // of this end, in the port's table
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  friend bool operator==(const GlobalAddress&, const GlobalAddress&) = default;
};

// The other end of an exchange, as seen from a port.
struct MadAddress {
  Lid lid{};  // permissive for directed routes that start here
  Sl sl{};
  std::uint8_t path_bits = 0;  // which LID of this port, counted from its first
  Qpn qpn{};
  QKey qkey{};                   // to send with; what came in had the right one
  std::uint16_t pkey_index = 0;  // in the port's table
  std::optional<GlobalAddress> global{};
  friend bool operator==(const MadAddress&, const MadAddress&) = default;
};

struct MadRequest {
  MadAddress to{};
  // One datagram of 256 bytes, which is filled with zeros where it is shorter; of an agent with
  // RMPP and a message with RMPP's Active flag, headers once and then as much data as there is.
  Bytes mad{};
  // How long to wait for the answer before sending again, and how often to send again. 0: no answer
  // is waited for. IBA 13.4.6.
  Duration timeout{};
  unsigned retries = 0;
  std::uint64_t cookie = 0;  // the caller's; comes back with whatever becomes of it
};

enum class MadResult : std::uint8_t {
  kSent,      // RMPP, and no answer was waited for: all of it was acknowledged
  kTimedOut,  // no answer, or no acknowledgement
  kAborted,   // RMPP: the other end stopped or aborted it
};

struct ReceivedMad {
  MadAddress from;
  // One datagram; or, when RMPP put it together, headers once and then all the data.
  Bytes mad;
  // Of the request that it answers; nothing: it was not asked for.
  std::optional<std::uint64_t> cookie{};
};

// Whoever has an agent. May call the MadPort from inside; the bytes last until the call returns.
class MadClient {
 public:
  virtual ~MadClient() = default;
  virtual void received(AgentId agent, const ReceivedMad& mad) = 0;
  // The end of a request that no answer ends. `mad` begins as it was sent: header and
  // TransactionID.
  virtual void finished(AgentId agent, std::uint64_t cookie, Bytes mad, MadResult result) = 0;
};

}  // namespace weft::mgmt
