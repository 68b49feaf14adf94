// SPDX-License-Identifier: Apache-2.0
// The timeline of a lab's link as an exchange that can be judged. It has messages and states; what
// the lines of a port do is told by its states.
#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/conform.h"
#include "cli/report_view.h"
#include "phy/negotiation/state_table.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
using phy::LineUse;
using phy::LinkSpeed;
using phy::NegotiationState;
using phy::conformance::Exchange;
using phy::conformance::Observation;
using phy::conformance::SeenMad;
using Kind = Observation::Kind;

std::uint32_t word_of(const Json& fields, const char* name) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number_of(fields, name), UINT32_MAX));
}

SeenMad mad_of(const Json& fields) {
  const auto bit = [&](const char* name, unsigned place) {
    return fields.value(name, Json()) == Json(true) ? 1U << place : 0U;
  };
  return {.flags = bit("acknowledge", 31) | bit("serdes_configured", 30) | bit("no_sweep", 29) |
                   bit("ddr", 0),
          .bandwidth = word_of(fields, "bandwidth"),
          .duration_ms = word_of(fields, "duration_ms"),
          .iterations = word_of(fields, "iterations")};
}

class Timeline {
 public:
  explicit Timeline(const Json& negotiation) : negotiation_(negotiation) { exchange_.lines = true; }

  Exchange read() {
    for (const Json& step : list_of(negotiation_, "timeline")) {
      const auto node = node_of(text_of(step, "end"));
      if (!node) continue;
      const Time time(Duration(
          static_cast<std::int64_t>(std::min<std::uint64_t>(number_of(step, "ns"), INT64_MAX))));
      if (step.contains("message")) {
        add_message(*node, time, step);
      } else {
        add_state(*node, time, text_of(step, "state"));
      }
      exchange_.end = std::max(exchange_.end, time);
    }
    const Time now(Duration(static_cast<std::int64_t>(
        std::min<std::uint64_t>(number_of(negotiation_, "ns"), INT64_MAX))));
    exchange_.end = std::max(exchange_.end, now);
    return std::move(exchange_);
  }

 private:
  [[nodiscard]] std::optional<unsigned> node_of(const std::string& name) const {
    const Json& ends = list_of(negotiation_, "ends");
    for (unsigned node = 0; node < 2 && node < ends.size(); ++node)
      if (text_of(ends[node], "at") == name) return node;
    return std::nullopt;
  }

  Observation& add(Kind kind, unsigned node, Time time) {
    Observation& made = exchange_.observations.emplace_back();
    made.kind = kind;
    made.node = node;
    made.time = time;
    return made;
  }

  void add_line(unsigned node, Time time, LinkSpeed speed, LineUse use) {
    Observation& made = add(Kind::kLine, node, time);
    made.speed = speed;
    made.use = use;
  }

  void add_message(unsigned node, Time time, const Json& step) {
    // More than a burst can have would be none of ours.
    constexpr std::uint64_t kMostCopies = 64;
    const std::uint64_t copies = std::min(number_of(step, "copies"), kMostCopies);
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      Observation& made = add(Kind::kMessage, node, time);
      made.mad = mad_of(object_of(step, "fields"));
      if (copy < number_of(step, "arrived")) made.arrived = time;
    }
  }

  void add_state(unsigned node, Time time, const std::string& name) {
    const auto is = [&](NegotiationState state) { return name == phy::state_name(state); };
    if (is(NegotiationState::kDown)) add(Kind::kLinkDown, node, time);
    // After a sweep the link is up when the port begins to say what it has found.
    if (is(NegotiationState::kSdrUp) ||
        (is(NegotiationState::kResultRequesting) && returns_[node])) {
      add(Kind::kLinkUp, node, time).speed = LinkSpeed::kSdr;
    }
    returns_[node] = is(NegotiationState::kReturning);
    if (is(NegotiationState::kSweeping)) add_line(node, time, LinkSpeed::kDdr, LineUse::kIdle);
    if (is(NegotiationState::kReturning) || is(NegotiationState::kFallingBack)) {
      add_line(node, time, LinkSpeed::kSdr, LineUse::kTrain);
    }
    if (is(NegotiationState::kGoingDdr)) add_line(node, time, LinkSpeed::kDdr, LineUse::kTrain);
    if (is(NegotiationState::kDdr)) add(Kind::kLinkUp, node, time).speed = LinkSpeed::kDdr;
    if (is(NegotiationState::kDdr) || is(NegotiationState::kEndedSdr)) {
      add(Kind::kAnswers, node, time);  // no longer polling
    }
  }

  const Json& negotiation_;
  Exchange exchange_;
  std::array<bool, 2> returns_{};
};

}  // namespace

Exchange timeline_exchange(const Json& negotiation) {
  return Timeline(negotiation).read();
}

phy::conformance::Rules timeline_rules(const Json& end) {
  phy::conformance::Rules rules;
  // Each within what a port can be set to.
  constexpr std::uint64_t kMost = 64;
  constexpr auto kLongest = static_cast<std::uint64_t>(Duration(60s).count());
  const auto take = [&](const char* name, std::uint64_t most, auto set) {
    const std::uint64_t value = number_of(end, name);
    if (value >= 1 && value <= most) set(value);
  };
  const auto time = [](std::uint64_t ns) { return Duration(static_cast<std::int64_t>(ns)); };
  take("burst_len", kMost,
       [&](std::uint64_t n) { rules.burst_len = static_cast<std::uint32_t>(n); });
  take("max_retry", kMost,
       [&](std::uint64_t n) { rules.max_retry = static_cast<std::uint32_t>(n); });
  take("xmit_time_out_ns", kLongest, [&](std::uint64_t ns) { rules.xmit_time_out = time(ns); });
  take("ddr_time_out_ns", kLongest, [&](std::uint64_t ns) { rules.ddr_time_out = time(ns); });
  return rules;
}

}  // namespace weft::cli
