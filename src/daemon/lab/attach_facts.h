// SPDX-License-Identifier: Apache-2.0
// A channel adapter of a lab as programs see it that are attached to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/channel_adapter.h"
#include "port/ring/attach_protocol.h"

namespace weft::daemon {

// What does not change; `error` and `arena` are 0.
[[nodiscard]] port::attach::Welcome program_welcome(const fabric::ChannelAdapter& adapter);

// The message Facts of a port, with its tables. `epoch`: of the attachment; `events`: Event.
[[nodiscard]] std::vector<std::byte> program_facts(const fabric::ChannelAdapter& adapter,
                                                   mgmt::PortNumber port, std::uint32_t epoch,
                                                   std::uint32_t events);

}  // namespace weft::daemon
