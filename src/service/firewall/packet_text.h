// SPDX-License-Identifier: Apache-2.0
// Packets and what became of them, for a person: in the log, and in what `weft firewall test` says.
#pragma once

#include <string>
#include <string_view>

#include "service/fields.h"
#include "service/firewall/firewall.h"

namespace weft::service::firewall {

// "accept", "drop" or "reject".
[[nodiscard]] std::string_view verdict_name(Action action);
// Where a packet goes from and to: "1:0x42 > 2:0x1" by LIDs and queue pairs.
[[nodiscard]] std::string ends_text(const Fields& fields);
// A message of the connection manager, an attribute or an opcode.
[[nodiscard]] std::string what_text(const Fields& fields);

// A line of the log, behind its prefix: "line 4 of forward: drop 3 > 66:0x1b RC RDMA READ Request,
// fe80::1 > fe80::2, established connected, 62 bytes". Nothing in it is a packet's to choose but
// numbers.
[[nodiscard]] std::string log_text(const LogSink::Line& line);

}  // namespace weft::service::firewall
