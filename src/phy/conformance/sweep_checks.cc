// SPDX-License-Identifier: Apache-2.0
// The trial of settings: clause 2.1.1, points 4, 6 and 7, clause 2.1.3, table 2, and clause 2.2,
// table 4.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "phy/conformance/checks.h"

namespace weft::phy::conformance {
namespace {

using Kind = Observation::Kind;

struct Iteration {
  Time begin{};
  Time end{};
  std::uint32_t transmits = 0;
  Time measured_last{};
  std::set<std::uint32_t> tried{};  // receive configurations
  // By lane and receive configuration.
  std::map<std::pair<std::uint32_t, std::uint32_t>, LaneMeasurement> measured{};
  std::set<std::uint32_t> lanes{};

  [[nodiscard]] bool counts(std::uint32_t lane, std::uint32_t receive) const {
    const auto found = measured.find({lane, receive});
    return found != measured.end() && found->second.matched && found->second.symbol_errors == 0;
  }
  // Each lane has a configuration that matched, free of errors.
  [[nodiscard]] bool works() const {
    return !lanes.empty() && std::all_of(lanes.begin(), lanes.end(), [&](std::uint32_t lane) {
      return std::any_of(tried.begin(), tried.end(),
                         [&](std::uint32_t receive) { return counts(lane, receive); });
    });
  }
};

// Of a sweep that is over.
std::optional<std::vector<Iteration>> iterations_of(const Episode& e) {
  const Observation* const sweep = e.sweep();
  if (sweep == nullptr || !e.exchange->configurations || !e.agreed_sweep()) return std::nullopt;
  const Observation* const over = e.after(*sweep);
  if (over == nullptr) return std::nullopt;
  std::vector<Iteration> out;
  std::map<std::uint32_t, std::uint32_t> receive;  // of each lane
  bool within = false;
  for (const Observation& event : e.events) {
    if (&event == sweep) within = true;
    if (&event == over) break;
    if (!within) continue;
    if (event.kind == Kind::kTransmit) {
      if (!out.empty()) out.back().end = event.time;
      out.push_back({.begin = event.time, .end = over->time, .transmits = event.configuration});
    } else if (event.kind == Kind::kReceive) {
      receive[event.lane] = event.configuration;
    } else if (event.kind == Kind::kMeasured && !out.empty()) {
      Iteration& now = out.back();
      now.measured_last = event.time;
      now.tried.insert(receive[event.lane]);
      now.lanes.insert(event.lane);
      now.measured[{event.lane, receive[event.lane]}] = event.measured;
    }
  }
  return out;
}

double milliseconds(Duration time) {
  return static_cast<double>(time.count()) / 1e6;
}

// A little more than was agreed is the time in which a port is woken; another iteration is not.
Outcome check_length(const Episode& e, const AgreedSweep& agreed, Time begin, Time end) {
  const Duration took = end - begin;
  const auto text = fmt::format("{:.3f} ms; agreed were {} x {:.0f} ms", milliseconds(took),
                                agreed.iterations, milliseconds(agreed.iteration));
  const bool good = took + e.rules.slack >= agreed.whole() &&
                    took < agreed.whole() + e.rules.xmit_time_out + e.rules.slack;
  return good ? Outcome::pass(text) : Outcome::fail(text + ", from " + e.at(begin).substr(3));
}

// What a lane received with, last before `until`.
std::map<std::uint32_t, std::uint32_t> receive_at(const Episode& e, const Observation& until) {
  std::map<std::uint32_t, std::uint32_t> out;
  for (const Observation& event : e.events) {
    if (&event == &until) break;
    if (event.kind == Kind::kReceive) out[event.lane] = event.configuration;
  }
  return out;
}

const Observation* ddr_line(const Episode& e) {
  return e.line(LinkSpeed::kDdr, LineUse::kTrain, e.begin);
}

}  // namespace

Outcome check_sweep_iterations(const Episode& e) {
  const auto iterations = iterations_of(e);
  if (!iterations) return {};
  const std::uint32_t agreed = e.agreed_sweep()->iterations;
  const auto text = fmt::format("{} iterations; agreed were {}", iterations->size(), agreed);
  return iterations->size() == agreed ? Outcome::pass(text) : Outcome::fail(text);
}

Outcome check_sweep_duration(const Episode& e) {
  const auto agreed = e.agreed_sweep();
  if (!agreed) return {};
  if (const auto iterations = iterations_of(e)) {
    for (std::size_t i = 0; i < iterations->size(); ++i) {
      const Duration took = (*iterations)[i].end - (*iterations)[i].begin;
      if (took + e.rules.slack >= agreed->iteration) continue;
      return Outcome::fail(fmt::format("iteration {} took {:.3f} ms; agreed were {:.0f} ms", i,
                                       milliseconds(took), milliseconds(agreed->iteration)));
    }
  }
  if (e.sees_lines()) {
    const Observation* const sweep = e.sweep();
    const Observation* const over = sweep == nullptr ? nullptr : e.after(*sweep);
    if (over == nullptr) return {};
    return check_length(e, *agreed, sweep->time, over->time);
  }
  // Without the lines: between what is said before the sweep, and after it.
  const Transmission* const result = e.told(true);
  if (result == nullptr) return {};
  Time before = e.begin;
  for (const Transmission& t : e.own)
    if (!t.mad.serdes_configured()) before = std::max(before, t.last);
  const Duration gap = result->first - before;
  const auto text =
      fmt::format("{:.3f} ms without a message; agreed were {} x {:.0f} ms", milliseconds(gap),
                  agreed->iterations, milliseconds(agreed->iteration));
  return gap + e.rules.slack >= agreed->whole() ? Outcome::pass(text) : Outcome::fail(text);
}

Outcome check_sweep_in_turn(const Episode& e) {
  const auto iterations = iterations_of(e);
  const Transmission* const own = e.told(false);
  if (!iterations || own == nullptr) return {};
  // As many as the node has said it has, before one comes again.
  std::set<std::uint32_t> sent;
  for (std::size_t i = 0; i < iterations->size() && i < own->mad.iterations; ++i) {
    if (sent.insert((*iterations)[i].transmits).second) continue;
    return Outcome::fail(fmt::format("configuration {} again in iteration {}, of {} it has",
                                     (*iterations)[i].transmits, i, own->mad.iterations));
  }
  return Outcome::pass(fmt::format("{} configurations", sent.size()));
}

Outcome check_sweep_receives(const Episode& e) {
  const auto iterations = iterations_of(e);
  if (!iterations || iterations->empty()) return {};
  const Duration said = e.told(false)->mad.duration_ms * Duration(1ms) + e.rules.slack;
  const std::set<std::uint32_t>& all = iterations->front().tried;
  for (std::size_t i = 0; i < iterations->size(); ++i) {
    const Iteration& iteration = (*iterations)[i];
    if (iteration.tried.empty() || iteration.tried != all) {
      return Outcome::fail(fmt::format("{} receive configurations in iteration {}, {} in the first",
                                       iteration.tried.size(), i, all.size()));
    }
    if (iteration.measured_last - iteration.begin <= said) continue;
    return Outcome::fail(
        fmt::format("still trying {:.3f} ms into iteration {}, for which it has "
                    "said {} ms",
                    milliseconds(iteration.measured_last - iteration.begin), i,
                    e.told(false)->mad.duration_ms));
  }
  return Outcome::pass(fmt::format("{} receive configurations in each", all.size()));
}

Outcome check_chosen_works(const Episode& e) {
  const auto iterations = iterations_of(e);
  const Transmission* const result = e.told(true);
  if (!iterations || result == nullptr) return {};
  if (result->mad.ddr()) {
    const std::uint32_t chosen = result->mad.iterations;
    if (chosen < iterations->size() && (*iterations)[chosen].works()) {
      return Outcome::pass(fmt::format("iteration {}", chosen));
    }
    return Outcome::fail(fmt::format(
        "chose iteration {}, in which no setting of some lane was free of errors", chosen));
  }
  for (std::size_t i = 0; i < iterations->size(); ++i) {
    if ((*iterations)[i].works()) {
      return Outcome::fail(fmt::format("found none, though iteration {} was free of errors", i));
    }
  }
  return Outcome::pass("none, as none was free of errors");
}

Outcome check_transmits_as_chosen(const Episode& e) {
  const auto iterations = iterations_of(e);
  const Observation* const gone = ddr_line(e);
  const Transmission* const theirs = e.learnt(true);
  if (!iterations || gone == nullptr || theirs == nullptr) return {};
  const std::uint32_t chosen = theirs->mad.iterations;
  if (chosen >= iterations->size()) return {};
  std::uint32_t set = 0;
  for (const Observation& event : e.events) {
    if (&event == gone) break;
    if (event.kind == Kind::kTransmit) set = event.configuration;
  }
  const auto text = fmt::format("configuration {}; iteration {}, which the peer chose, had {}", set,
                                chosen, (*iterations)[chosen].transmits);
  return set == (*iterations)[chosen].transmits ? Outcome::pass(text) : Outcome::fail(text);
}

Outcome check_receives_as_found(const Episode& e) {
  const auto iterations = iterations_of(e);
  const Observation* const gone = ddr_line(e);
  const Transmission* const own = e.told(true);
  if (!iterations || gone == nullptr || own == nullptr) return {};
  if (own->mad.iterations >= iterations->size()) return {};
  const Iteration& chosen = (*iterations)[own->mad.iterations];
  for (const auto& [lane, receive] : receive_at(e, *gone)) {
    if (chosen.counts(lane, receive)) continue;
    return Outcome::fail(
        fmt::format("lane {} receives with {}, with which iteration {} was not "
                    "free of errors",
                    lane, receive, own->mad.iterations));
  }
  return Outcome::pass(fmt::format("as in iteration {}", own->mad.iterations));
}

}  // namespace weft::phy::conformance
