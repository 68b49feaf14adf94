// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "rdmacm/identity.h"

namespace weft::rdmacm {

// What one identifier does now, for who wants to look.
struct IdentityReport {
  std::uint32_t handle = 0;
  ChannelId channel = 0;
  wire::PortSpace space{};
  hca::QpType type = hca::QpType::kRc;
  IdState state = IdState::kIdle;
  std::optional<mgmt::CmState> exchange;  // of its connection or SIDR exchange
  Qpn qpn{};                              // of a connection; 0: none yet
  Qpn remote_qpn{};
  Address source;
  Address destination;
};

// The kernel's word for it, as iproute2 prints it: "LISTEN", "CONNECT", …
[[nodiscard]] const char* to_string(IdState state);
[[nodiscard]] const char* to_string(wire::PortSpace space);  // "TCP", "UDP", "IPOIB", "IB"

}  // namespace weft::rdmacm
