// SPDX-License-Identifier: Apache-2.0
// The address of a management datagram, as the MAD layer has it and as it travels over the socket
// (umad/protocol.h).
#pragma once

#include "mgmt/mad/mad_client.h"
#include "umad/protocol.h"

namespace weft::daemon {

[[nodiscard]] mgmt::MadAddress address_from(const umad::protocol::Address& from);
[[nodiscard]] umad::protocol::Address address_to(const mgmt::MadAddress& from);

}  // namespace weft::daemon
