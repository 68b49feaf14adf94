// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/replay.h"

#include <array>
#include <cassert>
#include <optional>
#include <utility>

#include "phy/conformance/bench.h"
#include "phy/conformance/story.h"

namespace weft::phy::conformance {
namespace {

using Kind = Observation::Kind;

Advertisement advertisement_of(const SeenMad& mad) {
  return {.acknowledge = mad.acknowledge(),
          .serdes_configured = mad.serdes_configured(),
          .no_sweep = mad.no_sweep(),
          .ddr = mad.ddr(),
          .bandwidth = mad.bandwidth,
          .iteration_ms = mad.duration_ms,
          .iterations = mad.iterations,
          .reserved_set = mad.reserved_set()};
}

// What a node's lines say of where it is, in the words of the flow diagrams.
class Whereabouts {
 public:
  std::optional<NegotiationState> told(const Observation& seen) {
    switch (seen.kind) {
      case Kind::kLinkUp:
        if (seen.speed == LinkSpeed::kDdr) return NegotiationState::kDdr;
        return std::exchange(returns_, false) ? std::nullopt
                                              : std::optional(NegotiationState::kSdrUp);
      case Kind::kLine:
        return line(seen.speed, seen.use);
      case Kind::kAnswers:
        if (seen.polling || speed_ == LinkSpeed::kDdr) return std::nullopt;
        return NegotiationState::kEndedSdr;
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<NegotiationState> line(LinkSpeed speed, LineUse use) {
    const LinkSpeed before = std::exchange(speed_, speed);
    const bool swept = std::exchange(sweeps_, use == LineUse::kIdle);
    if (speed == LinkSpeed::kDdr) {
      return sweeps_ ? NegotiationState::kSweeping : NegotiationState::kGoingDdr;
    }
    if (before != LinkSpeed::kDdr) return std::nullopt;
    returns_ = true;
    return swept ? NegotiationState::kReturning : NegotiationState::kFallingBack;
  }

  LinkSpeed speed_ = LinkSpeed::kSdr;
  bool sweeps_ = false;
  bool returns_ = false;
};

}  // namespace

std::vector<FlowStep> flow_of(const Exchange& exchange) {
  std::vector<FlowStep> steps;
  std::array<Whereabouts, 2> nodes;
  const SeenMad* before = nullptr;  // whose copies are being counted
  for (const Observation& seen : exchange.observations) {
    if (seen.kind == Kind::kMessage) {
      const bool copy = before != nullptr && *before == seen.mad &&
                        steps.back().node == seen.node && steps.back().time == seen.time;
      if (!copy) {
        steps.push_back({.kind = FlowStep::Kind::kMessage,
                         .time = seen.time,
                         .node = seen.node,
                         .message = advertisement_of(seen.mad)});
      }
      ++steps.back().copies;
      if (seen.arrived) ++steps.back().arrived;
      before = &seen.mad;
    } else if (const auto state = nodes[seen.node].told(seen)) {
      steps.push_back({.time = seen.time, .node = seen.node, .state = *state});
      before = nullptr;
    }
  }
  return steps;
}

Exchange replay(unsigned diagram) {
  assert(diagram >= 1 && diagram <= kDiagrams);
  // Table 4: an InfiniScale III switch, and an InfiniHost III Lx adapter.
  std::array<NegotiationOptions, 2> nodes;
  nodes[0].transmit_configurations = 3;
  nodes[0].receive_configurations = 9;
  nodes[0].first_id = 0x100;
  nodes[1].transmit_configurations = 5;
  nodes[1].receive_configurations = 4;
  nodes[1].first_id = 0x200;
  BenchOptions options;
  if (diagram == 2) {
    options.lost = [](unsigned from, const SeenMad& mad) {
      return mad.speech() == (from == 0 ? Speech::kCapabilitiesAck : Speech::kResultAck);
    };
  }
  if (diagram == 3) {
    options.quality = [](unsigned receiver, std::uint32_t transmit, std::uint32_t receive) {
      if (receiver == 1) return LaneMeasurement{.symbol_errors = 1000};
      return LaneMeasurement{.matched = true, .eye = 1.0 + transmit + 0.1 * receive};
    };
  }
  std::array<Bench::Make, 2> ports;
  for (unsigned node = 0; node < 2; ++node) {
    ports[node] = [&nodes, node](SerdesControl& serdes, PortOutput& output) {
      return make_weft_port(nodes[node], serdes, output);
    };
  }
  Bench bench(std::move(options), ports);
  bench.run_until(Time(30s));
  return bench.exchange();
}

std::string_view diagram_text(unsigned diagram) {
  constexpr std::array<std::string_view, kDiagrams> kTexts{
      "to DDR, all arrives", "to DDR, though two acknowledgements are lost",
      "no settings found, at SDR"};
  assert(diagram >= 1 && diagram <= kDiagrams);
  return kTexts[diagram - 1];
}

}  // namespace weft::phy::conformance
