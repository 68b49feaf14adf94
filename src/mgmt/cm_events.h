// SPDX-License-Identifier: Apache-2.0
// What the connection manager tells its consumer.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/time.h"
#include "mgmt/cm_parameters.h"

namespace weft::mgmt {

// A copy of a message's private data or additional information, at most 224 bytes. Messages do not
// say how much of it the sender meant: it is always the whole field, with zeros at its end.
class PrivateData {
 public:
  PrivateData() = default;
  explicit PrivateData(Bytes bytes) : size_(static_cast<std::uint8_t>(bytes.size())) {
    assert(bytes.size() <= bytes_.size());
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  }
  [[nodiscard]] Bytes bytes() const { return Bytes(bytes_).first(size_); }

 private:
  std::array<std::byte, wire::kMaxPrivateData> bytes_{};
  std::uint8_t size_ = 0;
};

// A REQ came for a listener. The event's id is a new connection that belongs to the consumer, which
// answers with accept() or reject(), or gives it up with destroy(). While it thinks, repeated
// REQs are answered with an MRA. Numbers are from our side: what the peer calls its initiator depth
// is our responder_resources.
struct ConnectRequest {
  CmId listener{};
  ServiceId service_id{};
  hca::Path path{};  // to the peer
  std::optional<hca::Path> alternate_path{};
  Guid remote_ca_guid{};
  Qpn remote_qpn{};
  Psn starting_psn{};                   // where we shall begin to send: our SQ PSN
  hca::QpType type = hca::QpType::kRc;  // of our queue pair: kRc, kUc or kXrcTarget
  PKey pkey{};
  std::uint32_t path_mtu = 0;            // bytes
  std::uint8_t responder_resources = 0;  // the peer wants that many outstanding with us
  std::uint8_t initiator_depth = 0;      // and takes that many from us
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  bool srq = false;  // of the peer
  bool flow_control = false;
  std::uint16_t extensions = 0;  // Extension bits that the peer offers
  PrivateData private_data{};    // 92 bytes
};

// A REP came. The consumer brings its queue pair to RTS and calls ready(), or reject().
struct ConnectResponse {
  Guid remote_ca_guid{};
  Qpn remote_qpn{};
  Psn starting_psn{};                    // where we shall begin to send: our SQ PSN
  std::uint8_t responder_resources = 0;  // from our side, as in ConnectRequest
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;  // exponent
  std::uint8_t failover_accepted = 0;
  std::uint8_t rnr_retry = 0;
  bool srq = false;
  bool flow_control = false;
  std::uint16_t extensions = 0;  // what both agree on
  PrivateData private_data{};    // 196 bytes
};

// The side that accepted: the RTU came, or notify_established() stood in for it.
struct Established {
  PrivateData private_data{};  // 224 bytes of an RTU; none after notify_established()
};

// The peer refuses. The connection is over; destroy() it.
struct Rejected {
  RejectReason reason{};
  wire::CmAnswered message{};     // what it refuses
  PrivateData additional_info{};  // ARI, at most 72 bytes
  PrivateData private_data{};     // 148 bytes
};

// The peer never answered this message: kReq, kRep or kSidrReq, and the connection is over; or
// kLap, and the connection goes on.
struct Unreachable {
  wire::CmMessage message{};
};

// The peer has our REQ, REP or LAP and wants longer before it answers (MRA).
struct MoreTime {
  wire::CmAnswered message{};
  Duration service_timeout{};
  PrivateData private_data{};  // 222 bytes
};

// The connection has ended and is in timewait: its queue pair must go to the error state and its
// number must not be used again before TimewaitExit.
struct Disconnected {
  enum class Cause : std::uint8_t {
    kPeer,        // it sent DREQ; the manager has answered
    kOurs,        // our DREQ was answered
    kUnanswered,  // our DREQ was not, for as long as it is sent again
    kStale,       // the peer says that it does not know this connection
  };
  Cause cause{};
  PrivateData private_data{};  // of the DREQ (220) or the DREP (224)
};

// Nothing of the connection can be in the network any more. The id is in state kIdle; destroy() it.
struct TimewaitExit {};

// A LAP came: answer with reply_alternate_path().
struct AlternatePathRequest {
  hca::Path path{};
  std::uint8_t ack_timeout = 0;  // exponent
  PrivateData private_data{};    // 168 bytes
};

struct AlternatePathReply {
  AlternatePathStatus status{};
  PrivateData additional_info{};
  PrivateData private_data{};  // 148 bytes
};

// A SIDR_REQ came for a listener; the event's id is new and belongs to the consumer, which answers
// with sidr_reply() and destroys it.
struct SidrRequest {
  CmId listener{};
  ServiceId service_id{};
  PKey pkey{};
  hca::Path path{};            // to the peer
  PrivateData private_data{};  // 216 bytes
};

// The exchange is over; destroy() its id.
struct SidrReply {
  SidrStatus status{};
  ServiceId service_id{};
  Qpn qpn{};
  QKey qkey{};
  PrivateData additional_info{};
  PrivateData private_data{};  // 136 bytes
};

struct CmEvent {
  CmId id{};
  std::uint64_t user = 0;  // of that id; of the listener in the two requests
  Time now{};              // of the call that it comes from
  std::variant<ConnectRequest, ConnectResponse, Established, Rejected, Unreachable, MoreTime,
               Disconnected, TimewaitExit, AlternatePathRequest, AlternatePathReply, SidrRequest,
               SidrReply>
      what;
};

// Hears events from within ConnectionManager::receive(), undelivered() and expire(), one after the
// other, when the state has already changed. It may call the manager back, destroy() included; not
// those three. It stays until all that it was named for is destroyed, or the manager is.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const CmEvent& event) = 0;
};

}  // namespace weft::mgmt
