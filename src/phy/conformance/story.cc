// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::phy::conformance {
namespace {

using Kind = Observation::Kind;

// A transmission's number is in its TransactionID, if its sender puts one there.
std::optional<std::uint32_t> negotiation_number(const SeenMad& mad) {
  if (!mad.head) return std::nullopt;
  return static_cast<std::uint32_t>(mad.head->header.transaction_id >> 32);
}

class StoryTeller {
 public:
  StoryTeller(const Exchange& exchange, unsigned node, const Rules& rules)
      : exchange_(exchange), node_(node), rules_(rules) {
    for (const Observation& seen : exchange.observations) {
      // Whoever changes its lines drops the link.
      const bool changes =
          seen.kind == Kind::kLinkUp || seen.kind == Kind::kLinkDown || seen.kind == Kind::kLine;
      if (seen.node == node && changes) up_.emplace_back(seen.time, seen.kind == Kind::kLinkUp);
    }
    begin(exchange.begin);
    episodes_.back().first = true;
  }

  std::vector<Episode> tell() {
    for (const Observation& seen : exchange_.observations) {
      if (begins_anew(seen)) begin_again(seen.time);
      if (seen.kind == Kind::kMessage) {
        add(seen);
      } else if (seen.node == node_) {
        now().events.push_back(seen);
      }
    }
    episodes_.back().end = exchange_.end;
    return std::move(episodes_);
  }

 private:
  Episode& now() { return episodes_.back(); }

  void begin(Time time) {
    Episode& made = episodes_.emplace_back();
    made.exchange = &exchange_;
    made.rules = rules_;
    made.node = node_;
    made.begin = time;
  }

  // What the peer has just asked belongs to what it began.
  void begin_again(Time time) {
    std::vector<Transmission> late;
    auto& said = now().peer;
    while (!said.empty() && said.back().mad.speech() == Speech::kCapabilities &&
           said.back().first + rules_.xmit_time_out > time) {
      late.insert(late.begin(), said.back());
      said.pop_back();
    }
    const Time begun = late.empty() ? time : late.front().first;
    now().end = begun;
    begin(begun);
    now().peer = std::move(late);
  }

  // A link that comes up after a sweep, or after DDR did not work, goes on.
  [[nodiscard]] bool goes_on() {
    const Observation* last = nullptr;
    bool was_ddr = false;
    for (const Observation& event : now().events) {
      if (event.kind == Kind::kLinkUp && event.speed == LinkSpeed::kSdr) was_ddr = false;
      if (event.kind != Kind::kLine) continue;
      last = &event;
      was_ddr = was_ddr || event.speed == LinkSpeed::kDdr;
    }
    return last != nullptr && was_ddr;
  }

  [[nodiscard]] bool begins_anew(const Observation& seen) {
    const Episode& e = now();
    if (seen.kind == Kind::kLinkUp) {
      return seen.node == node_ && seen.speed == LinkSpeed::kSdr && !goes_on() &&
             (e.link_up(LinkSpeed::kSdr, e.begin) != nullptr || !e.own.empty());
    }
    if (seen.kind != Kind::kMessage || seen.mad.speech() != Speech::kCapabilities) return false;
    const std::vector<Transmission>& sent = seen.node == node_ ? e.own : e.peer;
    if (sent.empty()) return false;
    if (seen.node == node_) {
      if (e.said_first(Speech::kResult) != nullptr || e.sweep() != nullptr) return true;
      return !e.sees_lines() && seen.time - sent.back().last > rules_.ddr_time_out;
    }
    // A replay has the number of what it replays.
    const auto number = negotiation_number(seen.mad);
    return number && e.heard_first(Speech::kResult) != nullptr &&
           std::none_of(sent.begin(), sent.end(), [&](const Transmission& t) {
             return !t.mad.acknowledge() && negotiation_number(t.mad) == number;
           });
  }

  void add(const Observation& seen) {
    std::vector<Transmission>& sent = seen.node == node_ ? now().own : now().peer;
    // Before it has a link, a node hears nothing.
    const bool deaf =
        seen.node != node_ && exchange_.lines && seen.arrived && !up_at(*seen.arrived);
    const std::optional<Time> arrived = deaf ? std::nullopt : seen.arrived;
    const auto same = std::find_if(sent.rbegin(), sent.rend(), [&](const Transmission& t) {
      return t.mad == seen.mad && seen.time - t.last <= rules_.xmit_time_out / 4;
    });
    if (same == sent.rend()) {
      sent.push_back({seen.mad, seen.time, seen.time, 1, arrived});
      return;
    }
    ++same->copies;
    same->last = seen.time;
    if (!same->arrived) same->arrived = arrived;
  }

  [[nodiscard]] bool up_at(Time time) const {
    const auto later = std::upper_bound(
        up_.begin(), up_.end(), time,
        [](Time t, const std::pair<Time, bool>& change) { return t < change.first; });
    return later != up_.begin() && std::prev(later)->second;
  }

  const Exchange& exchange_;
  const unsigned node_;
  const Rules rules_;
  std::vector<Episode> episodes_;
  std::vector<std::pair<Time, bool>> up_;  // when the link of the node came up, or went
};

const Transmission* earlier(const Transmission* a, const Transmission* b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  return b->first < a->first ? b : a;
}

}  // namespace

std::vector<const Transmission*> Episode::said(Speech speech) const {
  std::vector<const Transmission*> out;
  for (const Transmission& t : own)
    if (t.mad.speech() == speech) out.push_back(&t);
  return out;
}

std::vector<const Transmission*> Episode::heard(Speech speech) const {
  std::vector<const Transmission*> out;
  for (const Transmission& t : peer) {
    if (t.mad.speech() == speech && t.arrived && is_of_protocol(t.mad) && !forbidden_field(t.mad)) {
      out.push_back(&t);
    }
  }
  return out;
}

const Transmission* Episode::said_first(Speech speech) const {
  const auto all = said(speech);
  return all.empty() ? nullptr : all.front();
}

const Transmission* Episode::heard_first(Speech speech) const {
  const auto all = heard(speech);
  return all.empty() ? nullptr : all.front();
}

const Transmission* Episode::told(bool results) const {
  return earlier(said_first(results ? Speech::kResult : Speech::kCapabilities),
                 said_first(results ? Speech::kResultAck : Speech::kCapabilitiesAck));
}

const Transmission* Episode::learnt(bool results) const {
  return earlier(heard_first(results ? Speech::kResult : Speech::kCapabilities),
                 heard_first(results ? Speech::kResultAck : Speech::kCapabilitiesAck));
}

bool Episode::both_capable() const {
  const Transmission* const mine = told(false);
  const Transmission* const theirs = learnt(false);
  return mine != nullptr && theirs != nullptr && mine->mad.ddr() && theirs->mad.ddr();
}

bool Episode::skips_sweep() const {
  const Transmission* const mine = told(false);
  const Transmission* const theirs = learnt(false);
  return (mine != nullptr && mine->mad.no_sweep()) || (theirs != nullptr && theirs->mad.no_sweep());
}

std::optional<AgreedSweep> Episode::agreed_sweep() const {
  if (!both_capable() || skips_sweep()) return std::nullopt;
  const SeenMad& mine = told(false)->mad;
  const SeenMad& theirs = learnt(false)->mad;
  return AgreedSweep{.iterations = std::max(mine.iterations, theirs.iterations),
                     .iteration = std::max(mine.duration_ms, theirs.duration_ms) * Duration(1ms)};
}

const Observation* Episode::event(Kind kind, Time from) const {
  const auto found = std::find_if(events.begin(), events.end(), [&](const Observation& event) {
    return event.kind == kind && event.time >= from;
  });
  return found == events.end() ? nullptr : &*found;
}

const Observation* Episode::line(LinkSpeed speed, LineUse use, Time from) const {
  const auto found = std::find_if(events.begin(), events.end(), [&](const Observation& event) {
    return event.kind == Kind::kLine && event.speed == speed && event.use == use &&
           event.time >= from;
  });
  return found == events.end() ? nullptr : &*found;
}

const Observation* Episode::link_up(LinkSpeed speed, Time from) const {
  const auto found = std::find_if(events.begin(), events.end(), [&](const Observation& event) {
    return event.kind == Kind::kLinkUp && event.speed == speed && event.time >= from;
  });
  return found == events.end() ? nullptr : &*found;
}

const Observation* Episode::sweep() const {
  return line(LinkSpeed::kDdr, LineUse::kIdle, begin);
}

const Observation* Episode::after(const Observation& line) const {
  const auto from = std::find_if(events.begin(), events.end(),
                                 [&](const Observation& event) { return &event == &line; });
  const auto found = std::find_if(from == events.end() ? from : from + 1, events.end(),
                                  [](const Observation& e) { return e.kind == Kind::kLine; });
  return found == events.end() ? nullptr : &*found;
}

bool Episode::undisturbed(Time from, Time until) const {
  if (until > end) return false;
  return std::none_of(events.begin(), events.end(), [&](const Observation& event) {
    return (event.kind == Kind::kLine || event.kind == Kind::kLinkDown) && event.time > from &&
           event.time <= until;
  });
}

bool Episode::has_left(Time time) const {
  return std::any_of(events.begin(), events.end(), [&](const Observation& event) {
    if (event.time > time) return false;
    return (event.kind == Kind::kLine && event.speed == LinkSpeed::kDdr &&
            event.use == LineUse::kTrain) ||
           (event.kind == Kind::kAnswers && !event.polling);
  });
}

std::string Episode::at(Time time) const {
  const double ms = static_cast<double>((time - exchange->begin).count()) / 1e6;
  return fmt::format("at {:.3f} ms", ms);
}

std::vector<Episode> episodes_of(const Exchange& exchange, unsigned node, const Rules& rules) {
  return StoryTeller(exchange, node, rules).tell();
}

}  // namespace weft::phy::conformance
