// SPDX-License-Identifier: Apache-2.0
// An exchange of two nodes as text, in the manner of the flow diagrams of the DDR auto-negotiation
// specification (Mellanox document 2429), clause 2.1.2: a line for each transmission and each
// state.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/time.h"
#include "phy/negotiation/advertisement.h"
#include "phy/negotiation/state_table.h"

namespace weft::phy {

struct FlowStep {
  enum class Kind : std::uint8_t { kMessage, kState };

  Kind kind = Kind::kState;
  Time time{};
  unsigned node = 0;  // 0 or 1: who sends the message, or is in the state
  Advertisement message{};
  std::uint32_t copies = 0;   // that were sent at once
  std::uint32_t arrived = 0;  // of these
  NegotiationState state{};
  NegotiationReason reason = NegotiationReason::kNone;

  friend bool operator==(const FlowStep&, const FlowStep&) = default;
};

//      0.000 ms  Node 0 -->         Capabilities Advertisement: 5G, 3 iterations of 750 ms
//      0.000 ms         x-- Node 1  Capabilities Advertisement: 5G, 5 iterations of 500 ms
//      1.020 ms  Node 0             sweeping
//
// Times are since `start`; an x says that no copy arrived.
[[nodiscard]] std::string flow_text(std::span<const FlowStep> steps, Time start);

// The same without times, contents and repetitions: what a diagram shows.
//
// Node 0 -> Node 1: Capabilities Advertisement
// Node 1 -> Node 0: Capabilities Advertisement + ACK (lost)
// Node 0: sweeping
[[nodiscard]] std::string flow_outline(std::span<const FlowStep> steps);

}  // namespace weft::phy
