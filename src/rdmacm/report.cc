// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/report.h"

#include <algorithm>

#include "rdmacm/command_core.h"

namespace weft::rdmacm {

const char* to_string(IdState state) {
  switch (state) {
    case IdState::kIdle:
      return "IDLE";
    case IdState::kBound:
      return "ADDR_BOUND";
    case IdState::kAddressQuery:
      return "ADDR_QUERY";
    case IdState::kAddressResolved:
      return "ADDR_RESOLVED";
    case IdState::kRouteResolved:
      return "ROUTE_RESOLVED";
    case IdState::kConnected:
      return "CONNECT";
    case IdState::kDisconnected:
      return "DISCONNECT";
    case IdState::kListening:
      return "LISTEN";
  }
  return "unknown";
}

const char* to_string(wire::PortSpace space) {
  switch (space) {
    case wire::PortSpace::kIpoib:
      return "IPOIB";
    case wire::PortSpace::kTcp:
      return "TCP";
    case wire::PortSpace::kUdp:
      return "UDP";
    case wire::PortSpace::kIb:
      return "IB";
  }
  return "unknown";
}

std::vector<IdentityReport> CommandCore::report(std::size_t most) const {
  std::vector<IdentityReport> out;
  out.reserve(std::min(most, identities_.size()));
  for (const auto& [handle, identity] : identities_) {
    if (out.size() >= most) break;
    IdentityReport each{.handle = handle,
                        .channel = identity->channel,
                        .space = identity->space,
                        .type = identity->type,
                        .state = identity->state,
                        .exchange = {},
                        .qpn = identity->qpn,
                        .remote_qpn = identity->remote_qpn,
                        .source = identity->source,
                        .destination = identity->destination};
    if (identity->cm != mgmt::CmId{}) each.exchange = manager_.state(identity->cm);
    out.push_back(each);
  }
  return out;
}

}  // namespace weft::rdmacm
