// SPDX-License-Identifier: Apache-2.0
// The state machine as text: tables in Markdown, which docs/link-states.md has copies of.
#pragma once

#include <string>
#include <string_view>

#include "phy/training/training_table.h"

namespace weft::phy {

[[nodiscard]] std::string_view to_text(TrainingState state);
[[nodiscard]] std::string_view to_text(TrainingEvent event);
[[nodiscard]] std::string_view to_text(LaneSend send);

// States: what they send, PortPhysicalState, time-out, what for.
[[nodiscard]] std::string training_states_text();
// Transitions; then the events that change nothing, by state.
[[nodiscard]] std::string training_table_text();
// Every event, and when it happens or is so.
[[nodiscard]] std::string training_events_text();
// Every time of TrainingTimes with its default.
[[nodiscard]] std::string training_times_text();

}  // namespace weft::phy
