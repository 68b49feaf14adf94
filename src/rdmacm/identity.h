// SPDX-License-Identifier: Apache-2.0
// What the command core remembers of one rdma_cm identifier.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "hca/types.h"
#include "mgmt/connection_manager.h"
#include "rdmacm/address.h"
#include "rdmacm/groups.h"
#include "rdmacm/interfaces.h"

namespace weft::rdmacm {

// One open rdma_cm descriptor of a program. Never 0, never given out twice.
using ChannelId = std::uint64_t;

// The steps of an identifier's life:
//
//   kIdle -> kBound -> kAddressResolved -> kRouteResolved -> kConnected -> kDisconnected
//                 \-> kListening
//
// kAddressQuery is between kBound and kAddressResolved where somebody has to be asked for the
// address.
//
// kConnected begins with connect() or with the request that made the identifier: commands do not
// tell the exchange from the connection; the connection manager does.
enum class IdState : std::uint8_t {
  kIdle,
  kBound,
  kAddressQuery,
  kAddressResolved,
  kRouteResolved,
  kConnected,
  kDisconnected,
  kListening,
};

// A join of a multicast group, an object with a handle of its own.
struct Membership {
  std::uint32_t owner = 0;  // the identifier
  std::uint64_t uid = 0;    // the program's
  Gid group{};
  std::uint32_t events_reported = 0;
  std::optional<GroupQuestion> question{};  // on a fabric
  bool asks = false;                        // the answer is to come
};

struct Identity {
  std::uint32_t handle = 0;
  ChannelId channel = 0;
  std::uint64_t uid = 0;  // the program's; 0 until it has accepted, and no events until then
  wire::PortSpace space{};
  hca::QpType type = hca::QpType::kRc;
  IdState state = IdState::kIdle;

  Address source;
  Address destination;
  bool holds_port = false;
  std::optional<LocalAddress> device;  // once its address is one of ours
  hca::Path path{};                    // once that is resolved
  std::uint32_t path_mtu = 1024;
  PKey pkey = kDefaultPKey;
  std::optional<std::uint8_t> packet_life;  // of a path on a fabric, an exponent
  bool asks_for_route = false;              // the answer is to come

  bool reuse_address = false;
  std::optional<bool> af_only;
  std::uint8_t tos = 0;
  std::optional<std::uint8_t> ack_timeout;

  mgmt::CmId cm{};            // 0: none
  std::uint16_t offered = 0;  // a request's: extensions of Weft's that the peer offers
  Qpn qpn{};                  // of a connection, at this end
  Qpn remote_qpn{};
  std::uint32_t listener = 0;  // the identifier whose request this is, until the program has it
  std::uint32_t backlog = 0;   // a listener's: requests that the program may still leave unread
  std::uint32_t events_reported = 0;
  std::uint32_t memberships = 0;

  [[nodiscard]] bool is_datagram() const { return type == hca::QpType::kUd; }
  // The service behind a port of one of its ends.
  [[nodiscard]] wire::ServiceId service_of(const Address& end) const {
    return wire::ip_service_id(end.family == Family::kIb ? end.ib_space : space, end.port);
  }
};

}  // namespace weft::rdmacm
