// SPDX-License-Identifier: Apache-2.0
// Writes what a switch forwards unicast packets by, as far as it is different from what the switch
// is known to have.
#pragma once

#include <cstdint>
#include <span>

#include "sm/changes.h"
#include "sm/subnet.h"
#include "wire/sm/switch_info.h"

namespace weft::sm {

// `table`: ports by LID, from 0 on. `subnet` and `changes` outlive what is on its way.
void write_linear(Changes& changes, Subnet& subnet, std::uint32_t node,
                  std::span<const std::uint8_t> table);
// All of it that a Set may change, but for PortStateChange, which stays what it is.
void write_switch_info(Changes& changes, Subnet& subnet, std::uint32_t node,
                       const wire::SwitchInfo& info);

}  // namespace weft::sm
