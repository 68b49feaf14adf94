// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "hca/raw_rule.h"
#include "port/ring/attach_protocol.h"

namespace weft::port {

// Says the rule in a request (ring/attach_protocol.h).
void write_rule(const hca::RawRule& rule, attach::Request& request);
// Nothing: it says none.
[[nodiscard]] std::optional<hca::RawRule> read_rule(const attach::Request& request);

}  // namespace weft::port
