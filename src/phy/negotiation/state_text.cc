// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/state_text.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <iterator>

#include "phy/negotiation/state_table.h"

namespace weft::phy {
namespace {

constexpr auto kStateCount = static_cast<std::size_t>(NegotiationState::kCount);

std::string action_text(const NegotiationRow& row) {
  std::string text(action_name(row.action));
  if (row.reason == NegotiationReason::kNone) return text;
  return fmt::format("{}{}because: {}", text, text.empty() ? "" : "; ", reason_name(row.reason));
}

std::string diagram_node(NegotiationState state) {
  return fmt::format("s{}", static_cast<unsigned>(state));
}

// All ways from one state to another in one label: a diagram of each row cannot be read.
std::string diagram_label(NegotiationState from, NegotiationState to) {
  std::string label;
  std::string_view last;
  for (const NegotiationRow& row : negotiation_table()) {
    if (row.state != from || row.next != to || event_name(row.event) == last) continue;
    last = event_name(row.event);
    if (!label.empty()) label += ", ";
    label += last;
  }
  return label;
}

}  // namespace

std::string state_table_markdown() {
  std::string text =
      "| state | event | guard | action | next |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const NegotiationRow& row : negotiation_table()) {
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {} | {} |\n", state_name(row.state),
                   event_name(row.event), guard_name(row.guard), action_text(row),
                   row.next == row.state ? "the same" : state_name(row.next));
  }
  return text;
}

std::string state_diagram_mermaid() {
  std::string text = "stateDiagram-v2\n";
  for (std::size_t i = 0; i < kStateCount; ++i) {
    const auto state = static_cast<NegotiationState>(i);
    fmt::format_to(std::back_inserter(text), "  state \"{}\" as {}\n", state_name(state),
                   diagram_node(state));
  }
  fmt::format_to(std::back_inserter(text), "  [*] --> {}\n", diagram_node(NegotiationState::kDown));
  for (std::size_t from = 0; from < kStateCount; ++from) {
    for (std::size_t to = 0; to < kStateCount; ++to) {
      const auto source = static_cast<NegotiationState>(from);
      const auto target = static_cast<NegotiationState>(to);
      const std::string label = diagram_label(source, target);
      if (label.empty()) continue;
      fmt::format_to(std::back_inserter(text), "  {} --> {}: {}\n", diagram_node(source),
                     diagram_node(target), label);
    }
  }
  return text;
}

}  // namespace weft::phy
