// SPDX-License-Identifier: Apache-2.0
// What the connection manager remembers of one connection or SIDR exchange. Internal to mgmt/.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"
#include "hca/types.h"
#include "mgmt/cm_address.h"
#include "mgmt/cm_parameters.h"
#include "mgmt/cm_state.h"
#include "mgmt/local_ends.h"
#include "wire/mad.h"

namespace weft::mgmt {

using Mad = std::array<std::byte, wire::kMadSize>;

// One end's queue pair.
struct CmSide {
  Qpn qpn{};
  Psn starting_psn{};  // where the other end begins to send
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
};

// A way to the peer, and the address of ours that it starts from.
struct CmRoute {
  hca::Path path{};
  LocalEnd end{};
  std::uint8_t ack_timeout = 0;  // exponent
};

// A message that is repeated until it is answered: after `interval`, which grows to `patience`,
// and from then on as often as there are retries.
struct CmRepeat {
  Mad mad{};
  bool valid = false;  // `mad` is there, to be sent again
  std::uint8_t retries_left = 0;
  Duration interval{};
  Duration patience{};
  unsigned sent = 0;         // times, since the peer was last heard about it
  unsigned undelivered = 0;  // times that the network has said it did not arrive; at most `sent`
};

// An exchange of LAP and APR (IBA 12.8).
struct CmAlternateExchange {
  enum class State : std::uint8_t { kAsked, kWasAsked, kAnswered };
  State state{};
  std::uint64_t transaction = 0;
  CmRoute route;    // the path that is proposed
  CmRepeat repeat;  // our LAP or APR
};

struct CmEntry {
  CmId id{};
  CmState state = CmState::kIdle;
  std::uint64_t user = 0;
  std::uint64_t owner = 0;
  EventSink* events = nullptr;
  bool passive = false;    // a message of the peer began it
  bool orphan = false;     // the consumer has forgotten it; no event may name it
  bool sidr = false;       // an exchange of SIDR, not a connection
  bool may_rearm = false;  // a new alternate path was agreed on
  CmId waits_for{};        // the listener in whose backlog it has a place; 0: none

  CmAddress peer{};  // where it was when the exchange began
  ServiceId service_id{};
  CmRoute route;
  std::optional<CmRoute> alternate;
  wire::CommId remote_id{};  // communication ID of the peer, 0 while unknown; or the request ID
  Guid remote_ca_guid{};
  std::uint64_t transaction = 0;  // of REQ, REP and RTU, or of SIDR

  hca::QpType type = hca::QpType::kRc;
  PKey pkey = kDefaultPKey;
  std::uint32_t path_mtu = 0;  // bytes
  CmSide local;
  CmSide remote;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t target_ack_delay = 0;
  std::uint8_t max_cm_retries = 0;
  std::uint8_t cm_timeout = 0;  // exponent that the peer was told or has told
  Duration patience{};          // how long the peer may take for an answer
  std::uint16_t offered = 0;    // extensions
  std::uint16_t agreed = 0;

  CmRepeat repeat;  // the last message of ours that the peer may not have seen
  std::unique_ptr<CmAlternateExchange> lap;
  std::optional<Time> deadline;  // set through CmTable alone
};

}  // namespace weft::mgmt
