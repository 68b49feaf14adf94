// SPDX-License-Identifier: Apache-2.0
// What a Set of PortInfo asks for, held against what the port is and can: IBA 14.2.5.6.
#pragma once

#include <optional>

#include "wire/sm/port_info.h"

namespace weft::mgmt {

enum class PortKind : std::uint8_t {
  kEnd,           // of a channel adapter
  kExternal,      // of a switch: it has no LID
  kBasePort0,     // of a switch: neither a link nor LMC
  kEnhancedPort0  // no link
};

struct PortInfoChange {
  wire::PortInfo info;  // as it is to be, but for the states
  wire::PortState state = wire::PortState::kNoChange;
  wire::PortPhysicalState physical_state = wire::PortPhysicalState::kNoChange;
};

// Nothing when a field has a value that the port cannot take: then none of it counts. Fields that
// a Set may not change do not matter.
[[nodiscard]] std::optional<PortInfoChange> check_port_info(const wire::PortInfo& present,
                                                            const wire::PortInfo& asked,
                                                            PortKind kind);

}  // namespace weft::mgmt
