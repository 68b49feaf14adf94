// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "port/roce/slot.h"

namespace weft::host {

// Slots of UDP port 4791 from the host agent, which has the port for all processes of this user.
// Each is ours until its lease ends, or the process.
class AgentSlots final : public port::SlotSource {
 public:
  // ENODEV when no agent can be reached or started; else what the agent says.
  Expected<port::Slot> take() override;
  // EADDRINUSE: queue pair 1 is the agent's.
  Expected<port::Slot> take_management() override;
};

}  // namespace weft::host
