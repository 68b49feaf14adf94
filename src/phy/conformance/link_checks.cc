// SPDX-License-Identifier: Apache-2.0
// Where the link goes, and what subnet management is told of it: clause 2.1.1, points 1, 4, 5 and
// 8, clauses 2.1.2, 2.1.4 and 2.2.
#include <fmt/format.h>

#include <algorithm>

#include "phy/conformance/checks.h"

namespace weft::phy::conformance {
namespace {

using Kind = Observation::Kind;

const Observation* to_ddr(const Episode& e) {
  return e.line(LinkSpeed::kDdr, LineUse::kTrain, e.begin);
}

// The first thing that a node does with DDR from then on, to sweep or to stay.
const Observation* any_ddr(const Episode& e, Time from) {
  const auto found = std::find_if(e.events.begin(), e.events.end(), [=](const Observation& event) {
    return event.kind == Kind::kLine && event.speed == LinkSpeed::kDdr && event.time >= from;
  });
  return found == e.events.end() ? nullptr : &*found;
}

// After `from` a node has what it needs: it is to do so within the time that all transmissions
// take.
Outcome check_goes(const Episode& e, const Observation* gone, Time from, std::string_view where) {
  const Time due = from + e.rules.exchange_time() + e.rules.slack;
  if (gone != nullptr && gone->time <= due) {
    return Outcome::pass(fmt::format("{} {}", where, e.at(gone->time)));
  }
  if (gone != nullptr) return Outcome::fail(fmt::format("{} only {}", where, e.at(gone->time)));
  const Observation* const elsewhere = e.event(Kind::kLine, from);
  if (elsewhere != nullptr && elsewhere->time <= due) {
    return Outcome::fail(fmt::format("elsewhere {}, not {}", e.at(elsewhere->time), where));
  }
  if (!e.undisturbed(from, due)) return {};
  return Outcome::fail(fmt::format("not {} by {}", where, e.at(due).substr(3)));
}

// Nothing of the episode goes to DDR after `from`, for as long as one may still be on its way.
Outcome check_stays(const Episode& e, Time from, std::string why) {
  if (const Observation* const gone = any_ddr(e, from)) {
    return Outcome::fail(fmt::format("went to DDR {}, though {}", e.at(gone->time), why));
  }
  if (from + e.rules.exchange_time() > e.end) return {};
  return Outcome::pass("at SDR, as " + why);
}

bool was_acknowledged(const Episode& e, Speech acknowledgement) {
  return e.heard_first(acknowledgement) != nullptr;
}

bool both_found(const Episode& e) {
  return e.told(true) != nullptr && e.learnt(true) != nullptr && e.told(true)->mad.ddr() &&
         e.learnt(true)->mad.ddr();
}

// When a node had both said and heard it.
Time both_known(const Episode& e, bool results) {
  return std::max(e.told(results)->first, *e.learnt(results)->arrived);
}

// Of these, those that were sent by then.
std::size_t sent_by(const std::vector<const Transmission*>& sent, Time when) {
  return static_cast<std::size_t>(std::count_if(
      sent.begin(), sent.end(), [when](const Transmission* t) { return t->first <= when; }));
}

// Why a node may tell subnet management at `when` that it has ended at SDR; empty: it may not.
std::string reason_to_end(const Episode& e, Time when) {
  const auto said = [when](const Transmission* t) { return t != nullptr && t->first <= when; };
  const auto heard = [when](const Transmission* t) { return t != nullptr && *t->arrived <= when; };
  const bool knows_peer = heard(e.learnt(false));
  if (knows_peer && !e.learnt(false)->mad.ddr()) return "the peer is not capable";
  if (said(e.told(false)) && !e.told(false)->mad.ddr()) return "the node is not capable";
  if (!knows_peer && sent_by(e.said(Speech::kCapabilities), when) >= e.rules.max_retry) {
    return "nobody answered";
  }
  const bool knows_result = heard(e.learnt(true));
  if (!knows_result && sent_by(e.said(Speech::kResult), when) >= e.rules.max_retry) {
    return "nobody answered the result";
  }
  if (said(e.told(true)) && knows_result && !both_found(e)) return "no settings were found";
  const Observation* const gone = to_ddr(e);
  const Observation* const back = gone == nullptr ? nullptr : e.after(*gone);
  if (back != nullptr && back->time <= when) return "the link did not come up at DDR";
  return "";
}

}  // namespace

Outcome check_starts_at_sdr(const Episode& e) {
  if (!e.sees_lines() || e.told(false) == nullptr) return {};
  const Observation* const up = e.event(Kind::kLinkUp, e.begin);
  // A negotiation that is begun anew while the link stays up has no such event.
  if (up == nullptr || (up->time > e.told(false)->first && !e.first)) return {};
  if (up->speed != LinkSpeed::kSdr) return Outcome::fail("up at DDR " + e.at(up->time));
  const Time said = e.told(false)->first;
  for (const Observation& event : e.events) {
    if (event.kind != Kind::kLine || event.time > said || event.speed == LinkSpeed::kSdr) continue;
    return Outcome::fail("at DDR " + e.at(event.time) + ", before its first message");
  }
  if (said < up->time) return Outcome::fail("a message " + e.at(said) + ", before the link was up");
  return Outcome::pass("up at SDR " + e.at(up->time));
}

Outcome check_sweeps(const Episode& e) {
  const auto agreed = e.agreed_sweep();
  if (!agreed) return {};
  if (e.sees_lines()) return check_goes(e, e.sweep(), both_known(e, false), "sweeping");
  const Transmission* const result = e.said_first(Speech::kResult);
  if (result == nullptr) return {};
  return Outcome::pass("a result " + e.at(result->first));
}

Outcome check_skips_sweep(const Episode& e) {
  if (!e.both_capable() || !e.skips_sweep()) return {};
  if (const Observation* const sweep = e.sweep()) {
    return Outcome::fail("sweeps from " + e.at(sweep->time).substr(3) + " on");
  }
  const Transmission* const result = e.told(true);
  if (result == nullptr) return {};
  if (!e.sees_lines() && result->first > both_known(e, false) + e.rules.ddr_time_out) return {};
  return Outcome::pass("a result " + e.at(result->first) + ", without a sweep");
}

Outcome check_sweeps_unacknowledged(const Episode& e) {
  const Transmission* const theirs = e.heard_first(Speech::kCapabilities);
  if (theirs == nullptr || !e.both_capable()) return {};
  if (was_acknowledged(e, Speech::kCapabilitiesAck)) return {};
  const Transmission* const result = e.told(true);
  if (!e.sees_lines()) {
    return result == nullptr ? Outcome{} : Outcome::pass("a result " + e.at(result->first));
  }
  if (!e.skips_sweep()) return check_goes(e, e.sweep(), both_known(e, false), "sweeping");
  if (result != nullptr) return Outcome::pass("a result " + e.at(result->first));
  const Time due = both_known(e, false) + e.rules.exchange_time();
  if (!e.undisturbed(*theirs->arrived, due)) return {};
  return Outcome::fail("no result by " + e.at(due).substr(3));
}

Outcome check_returns(const Episode& e) {
  const Observation* const sweep = e.sweep();
  if (sweep == nullptr) return {};
  const Observation* const back = e.after(*sweep);
  if (back != nullptr) {
    if (back->speed == LinkSpeed::kSdr && back->use == LineUse::kTrain) {
      return Outcome::pass("back " + e.at(back->time));
    }
    return Outcome::fail("not to SDR " + e.at(back->time));
  }
  const auto agreed = e.agreed_sweep();
  if (!agreed || sweep->time + agreed->whole() + agreed->iteration > e.end) return {};
  return Outcome::fail("still sweeping " + e.at(e.end));
}

Outcome check_goes_to_ddr(const Episode& e) {
  if (!e.sees_lines() || !both_found(e)) return {};
  return check_goes(e, to_ddr(e), both_known(e, true), "to DDR");
}

Outcome check_ddr_unacknowledged(const Episode& e) {
  if (!e.sees_lines() || !both_found(e) || e.heard_first(Speech::kResult) == nullptr) return {};
  if (was_acknowledged(e, Speech::kResultAck)) return {};
  return check_goes(e, to_ddr(e), both_known(e, true), "to DDR");
}

Outcome check_stays_at_sdr(const Episode& e) {
  if (!e.sees_lines() || e.told(true) == nullptr || e.learnt(true) == nullptr) return {};
  if (both_found(e)) return {};
  return check_stays(e, both_known(e, true),
                     e.told(true)->mad.ddr() ? "the peer has found no settings"
                                             : "the node has found no settings");
}

Outcome check_not_capable(const Episode& e) {
  const Transmission* const theirs = e.learnt(false);
  if (theirs == nullptr || theirs->mad.ddr() || e.told(false) == nullptr) return {};
  if (const Transmission* const result = e.told(true)) {
    return Outcome::fail("a result " + e.at(result->first) + ", though the peer is not capable");
  }
  if (!e.sees_lines()) return Outcome::pass("no result, as the peer is not capable");
  return check_stays(e, *theirs->arrived, "the peer is not capable");
}

Outcome check_unanswered(const Episode& e) {
  const auto requests = e.said(Speech::kCapabilities);
  if (requests.empty() || e.learnt(false) != nullptr) return {};
  if (!e.sees_lines()) return {};
  return check_stays(e, requests.front()->first, "nobody answered");
}

Outcome check_polling(const Episode& e) {
  if (!e.exchange->answers) return {};
  const Observation* ended = nullptr;
  for (const Observation& event : e.events) {
    if (event.kind != Kind::kAnswers || event.polling) continue;
    ended = &event;
    const Observation* const up = e.link_up(LinkSpeed::kDdr, e.begin);
    if (up != nullptr && up->time <= event.time) continue;
    if (reason_to_end(e, event.time).empty()) {
      return Outcome::fail("no longer polling " + e.at(event.time) +
                           ", while the negotiation goes on");
    }
  }
  if (ended == nullptr) return {};
  const std::string why = reason_to_end(e, ended->time);
  return Outcome::pass("polling until " + e.at(ended->time).substr(3) +
                       (why.empty() ? "" : ", as " + why));
}

Outcome check_port_info(const Episode& e) {
  if (!e.exchange->answers) return {};
  constexpr std::uint8_t kBoth = 3;
  const Observation* last = nullptr;
  for (const Observation& event : e.events) {
    if (event.kind != Kind::kAnswers) continue;
    last = &event;
    const PortSpeeds& speeds = event.speeds;
    const Observation* const up = e.link_up(LinkSpeed::kDdr, e.begin);
    const Observation* const back =
        up == nullptr ? nullptr : e.line(LinkSpeed::kSdr, LineUse::kTrain, up->time);
    const bool ddr = up != nullptr && up->time <= event.time && !event.polling &&
                     (back == nullptr || back->time > event.time);
    const std::uint8_t active = ddr ? 2 : 1;
    if (speeds.supported == kBoth && speeds.enabled == kBoth && speeds.active == active) continue;
    return Outcome::fail(fmt::format(
        "LinkSpeedSupported {}, Enabled {}, Active {} {}, where the link is at {}",
        speeds.supported, speeds.enabled, speeds.active, e.at(event.time), ddr ? "DDR" : "SDR"));
  }
  if (last == nullptr) return {};
  return Outcome::pass(fmt::format("3, 3 and {} {}", last->speeds.active, e.at(last->time)));
}

}  // namespace weft::phy::conformance
