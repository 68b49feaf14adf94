// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/negotiation_report.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/counters_json.h"
#include "phy/negotiation/flow_text.h"
#include "phy/negotiation/state_table.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

std::string_view text(phy::SpeedMode mode) {
  switch (mode) {
    case phy::SpeedMode::kSdrOnly:
      return "sdr";
    case phy::SpeedMode::kDdrOnly:
      return "ddr";
    default:
      return "auto";
  }
}

// Of one pair of settings, the worst lane; null where not all of them were measured.
Json eye_json(const phy::Sweep& sweep, std::uint32_t iteration, std::uint32_t receive) {
  phy::LaneMeasurement worst{.matched = true, .eye = std::numeric_limits<double>::infinity()};
  for (std::uint32_t lane = 0; lane < sweep.plan().lanes; ++lane) {
    const auto& seen = sweep.at(iteration, receive, lane);
    if (!seen) return nullptr;
    worst.matched = worst.matched && seen->matched;
    worst.symbol_errors += seen->symbol_errors;
    worst.eye = std::min(worst.eye, seen->eye);
  }
  return {
      {"matched", worst.matched}, {"symbol_errors", worst.symbol_errors}, {"eye_mv", worst.eye}};
}

// Of a message, as table 1 of the specification has them.
Json fields_json(const phy::Advertisement& message) {
  return {{"acknowledge", message.acknowledge}, {"serdes_configured", message.serdes_configured},
          {"no_sweep", message.no_sweep},       {"ddr", message.ddr},
          {"bandwidth", message.bandwidth},     {"duration_ms", message.iteration_ms},
          {"iterations", message.iterations}};
}

Json sweep_json(const phy::Sweep& sweep) {
  Json out = Json::array();
  for (std::uint32_t iteration = 0; iteration < sweep.plan().iterations; ++iteration) {
    Json row = Json::array();
    for (std::uint32_t receive = 0; receive < sweep.plan().receive_configurations; ++receive)
      row.push_back(eye_json(sweep, iteration, receive));
    out.push_back(std::move(row));
  }
  return out;
}

Json end_json(phy::DdrLink& link, unsigned side, const std::string& name, Time now) {
  const phy::DdrNegotiation& end = link.end(side);
  Json out{{"at", name},
           {"mode", text(end.options().mode)},
           {"no_sweep", end.options().no_sweep},
           {"burst_len", end.options().burst_len},
           {"max_retry", end.options().max_retry},
           {"xmit_time_out_ns", end.options().xmit_time_out.count()},
           {"ddr_time_out_ns", end.options().ddr_time_out.count()},
           {"state", phy::state_name(end.state())},
           {"counters", counters_json(end.counters().snapshot())},
           {"symbol_errors", link.symbol_errors(side, now)},
           {"sweep", sweep_json(end.sweep())}};
  const auto result = end.result();
  if (!result) return out;
  out["reason"] = phy::reason_name(result->reason);
  if (link.up()) out["bit_error_rate"] = link.bit_error_rate(side);
  if (result->transmit) out["transmit"] = *result->transmit;
  if (result->receive) {
    out["iteration"] = result->receive->iteration;
    out["receive"] = result->receive->receive;
  }
  return out;
}

}  // namespace

Json negotiation_report(phy::DdrLink& link, const std::array<std::string, 2>& names, Time now) {
  Json out{
      {"ends", Json::array()}, {"timeline", Json::array()}, {"timeline_lost", link.flow_lost()}};
  if (link.started()) out["ns"] = (now - link.started_at()).count();
  for (unsigned side = 0; side < 2; ++side)
    out["ends"].push_back(end_json(link, side, names[side], now));
  for (const phy::FlowStep& step : link.flow()) {
    std::string line = phy::flow_text({&step, 1}, link.started_at());
    line.pop_back();  // its end
    const bool message = step.kind == phy::FlowStep::Kind::kMessage;
    Json row{
        {"ns", (step.time - link.started_at()).count()}, {"end", names[step.node]}, {"text", line}};
    if (message) {
      row["message"] = phy::advertisement_name(step.message);
      row["fields"] = fields_json(step.message);
      row["copies"] = step.copies;
      row["arrived"] = step.arrived;
    } else {
      row["state"] = phy::state_name(step.state);
    }
    out["timeline"].push_back(std::move(row));
  }
  return out;
}

}  // namespace weft::daemon
