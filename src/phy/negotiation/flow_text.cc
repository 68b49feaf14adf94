// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/flow_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace weft::phy {
namespace {

std::string_view flow_arrow(const FlowStep& step) {
  if (step.kind == FlowStep::Kind::kState) {
    return step.node == 0 ? "Node 0            " : "           Node 1 ";
  }
  if (step.node == 0) return step.arrived == 0 ? "Node 0 --x        " : "Node 0 -->        ";
  return step.arrived == 0 ? "       x-- Node 1 " : "       <-- Node 1 ";
}

std::string flow_subject(const FlowStep& step) {
  if (step.kind == FlowStep::Kind::kMessage) {
    std::string text =
        fmt::format("{}: {}", advertisement_name(step.message), advertisement_text(step.message));
    if (step.arrived != 0 && step.arrived != step.copies) {
      text += fmt::format(" ({} of {} arrived)", step.arrived, step.copies);
    }
    return text;
  }
  if (step.reason == NegotiationReason::kNone) return std::string(state_name(step.state));
  return fmt::format("{}: {}", state_name(step.state), reason_name(step.reason));
}

// Where the diagrams have a box across both nodes.
bool is_milestone(NegotiationState state) {
  return state == NegotiationState::kSdrUp || state == NegotiationState::kSweeping ||
         state == NegotiationState::kReturning || state == NegotiationState::kGoingDdr ||
         state == NegotiationState::kDdr || state == NegotiationState::kEndedSdr;
}

}  // namespace

std::string flow_text(std::span<const FlowStep> steps, Time start) {
  std::string text;
  for (const FlowStep& step : steps) {
    const double ms = static_cast<double>((step.time - start).count()) / 1e6;
    fmt::format_to(std::back_inserter(text), "{:10.3f} ms  {} {}\n", ms, flow_arrow(step),
                   flow_subject(step));
  }
  return text;
}

std::string flow_outline(std::span<const FlowStep> steps) {
  std::vector<std::string> lines;
  std::size_t stage = 0;  // where its first line is
  for (const FlowStep& step : steps) {
    if (step.kind == FlowStep::Kind::kState) {
      if (!is_milestone(step.state)) continue;
      lines.push_back(fmt::format("Node {}: {}", step.node, state_name(step.state)));
      stage = lines.size();
      continue;
    }
    std::string line =
        fmt::format("Node {} -> Node {}: {}{}", step.node, 1 - step.node,
                    advertisement_name(step.message), step.arrived == 0 ? " (lost)" : "");
    const auto since = lines.begin() + static_cast<std::ptrdiff_t>(stage);
    if (std::find(since, lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace weft::phy
