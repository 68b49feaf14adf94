// SPDX-License-Identifier: Apache-2.0
// What a consumer of the connection manager says: the arguments of its calls. Exponents are those
// of the wire: n stands for 4.096 us * 2^n. `Bytes` are copied by the call that takes them; private
// data shorter than its message's field is followed by zeros, longer data is refused.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "hca/qp_state.h"
#include "hca/types.h"
#include "wire/cm_values.h"

namespace weft::mgmt {

using wire::AlternatePathStatus;
using wire::RejectReason;
using wire::ServiceId;
using wire::SidrStatus;

// A listener, a connection or one SIDR exchange. Unguessable, never 0 once given out, and not
// given out again while anything remembers it. On the wire it is the local communication ID.
using CmId = wire::CommId;

class EventSink;

// What two Weft ends may agree on beyond the standard. Bits; see mgmt/extension_offer.h for how
// they travel.
enum Extension : std::uint16_t {
  kWeftTransport = 1u << 0,  // hca::ConnectedConfig::extensions
};

struct ListenParameters {
  ServiceId service_id{};
  // Bits of the service ID that a request must have in common with this one.
  std::uint64_t mask = ~std::uint64_t{0};
  // Only requests to this address of ours; zero: to any. The listener with an address goes before
  // one without, then the one with more bits in its mask.
  Gid address{};
  // Requests that may wait for accept() or reject(), connections and SIDR together; at least 1.
  // More are rejected with kNoResources.
  std::uint32_t backlog = 1024;
  std::uint64_t user = 0;  // given back in events
  // Who hears of the requests, and of the connections that come of them; null: the manager's own.
  EventSink* events = nullptr;
};

// The defaults are what Linux' rdma_cm sends. `path.sgid` must be an address that LocalEnds knows.
struct ConnectParameters {
  hca::Path path{};
  std::optional<hca::Path> alternate_path{};
  ServiceId service_id{};
  hca::QpType type = hca::QpType::kRc;  // kRc, kUc or kXrcInitiator
  Qpn qpn{};
  // Where the peer shall begin to send (IBA 12.7.31): our queue pair's RQ PSN. None: drawn.
  std::optional<Psn> starting_psn{};
  PKey pkey = kDefaultPKey;
  std::uint32_t path_mtu = 1024;         // bytes: 256, 512, 1024, 2048 or 4096
  std::uint8_t responder_resources = 0;  // reads and atomics that we take at a time
  std::uint8_t initiator_depth = 0;      // and that we want to have outstanding
  std::uint8_t retry_count = 7;          // 0..7
  std::uint8_t rnr_retry = 7;            // 0..7; 7: for ever
  bool srq = false;                      // our queue pair shares a receive queue
  bool flow_control = true;              // end-to-end credits; RC only
  std::uint8_t ack_timeout = 19;         // exponent, 0..31: our local ACK timeout
  std::uint8_t min_rnr_timer = 12;       // code 0..31, for the attributes of our queue pair
  std::uint8_t remote_cm_timeout = 20;   // exponent, 0..31: how long the peer may take to answer
  std::uint8_t local_cm_timeout = 20;    // exponent: how long we shall take at most
  std::uint8_t max_cm_retries = 15;      // 0..15
  Bytes private_data{};                  // at most 92 bytes
  std::uint16_t extensions = 0;          // Extension bits to offer
  std::uint64_t user = 0;
  std::uint64_t owner = 0;      // see ConnectionManager::set_owner()
  EventSink* events = nullptr;  // who hears of it; null: the manager's own
};

struct AcceptParameters {
  Qpn qpn{};
  std::optional<Psn> starting_psn{};     // as in ConnectParameters
  std::uint8_t responder_resources = 0;  // as in ConnectParameters, from our side
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 15;  // exponent, 0..31
  std::uint8_t rnr_retry = 7;          // 0..7: the peer's queue pair shall use it
  std::uint8_t min_rnr_timer = 12;     // code 0..31
  bool srq = false;
  bool flow_control = true;
  std::uint8_t failover_accepted = 0;  // 2 bits, IBA 12.6.8.9: 0 accepts the alternate path
  Bytes private_data{};                // at most 196 bytes
  // What we agree to of the Extension bits that the peer offers: nothing after all when the private
  // data leaves no room to say so. See ConnectionManager::agreed_extensions().
  std::uint16_t extensions = 0;
};

struct RejectParameters {
  RejectReason reason = RejectReason::kConsumerReject;
  Bytes additional_info{};  // ARI, at most 72 bytes
  Bytes private_data{};     // at most 148 bytes
};

struct AlternatePathParameters {
  hca::Path path{};
  std::uint8_t ack_timeout = 19;  // exponent
  Bytes private_data{};           // at most 168 bytes
};

struct AlternatePathAnswer {
  AlternatePathStatus status = AlternatePathStatus::kLoaded;
  Bytes additional_info{};  // at most 72 bytes
  Bytes private_data{};     // at most 148 bytes
};

struct SidrParameters {
  hca::Path path{};
  ServiceId service_id{};
  PKey pkey = kDefaultPKey;
  std::uint8_t cm_timeout = 20;      // exponent: how long the peer may take to answer
  std::uint8_t max_cm_retries = 15;  // 0..255
  Bytes private_data{};              // at most 216 bytes
  std::uint64_t user = 0;
  std::uint64_t owner = 0;      // see ConnectionManager::set_owner()
  EventSink* events = nullptr;  // who hears of it; null: the manager's own
};

struct SidrAnswer {
  SidrStatus status = SidrStatus::kValid;
  Qpn qpn{};
  QKey qkey{};
  Bytes additional_info{};  // at most 72 bytes
  Bytes private_data{};     // at most 136 bytes
};

// What hca's modify wants for one step of a connected queue pair.
struct QpTransition {
  hca::QpAttributes attributes;
  std::uint32_t mask = 0;  // hca::QpAttr
};

}  // namespace weft::mgmt
