// SPDX-License-Identifier: Apache-2.0
// Notices that the subnet administrator reports to who has subscribed to them, IBA 13.4.11.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "fabric/node.h"
#include "mgmt/mad/mad_layer.h"
#include "wire/mad.h"
#include "wire/sm/notice.h"

namespace weft::daemon {

// Asks to be told of the notices of a number, whoever they are about, or not to be any more.
[[nodiscard]] wire::MadBuffer notice_subscription(wire::TrapNumber trap, bool subscribe,
                                                  std::uint32_t transaction);

// What a report says; nothing: it is none, or not of the administrator at this LID.
[[nodiscard]] std::optional<wire::Notice> read_notice_report(const mgmt::ReceivedMad& report,
                                                             Lid administrator);
// By which the administrator knows that it has come, and ends its retries. `report` is what
// read_notice_report() takes, of a port of `node`.
void confirm_notice_report(fabric::Node& node, mgmt::PortNumber port, mgmt::AgentId agent,
                           const mgmt::ReceivedMad& report);
// The same by the MAD layer of a port, wherever that is.
void confirm_notice_report(mgmt::MadLayer& port, mgmt::AgentId agent,
                           const mgmt::ReceivedMad& report);

}  // namespace weft::daemon
