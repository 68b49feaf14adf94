// SPDX-License-Identifier: Apache-2.0
// Who says what when: clause 2.1.1, points 2, 3, 6 and 7, figures 1 and 2, and the bits of table 2.
#include <fmt/format.h>

#include <algorithm>

#include "phy/conformance/checks.h"

namespace weft::phy::conformance {
namespace {

Outcome found(const Episode& e, const Transmission& t) {
  return Outcome::pass(fmt::format("{} {}", speech_name(t.mad.speech()), e.at(t.first)));
}

// Whether a node that was asked at `asked` need not answer any more: it has gone on.
bool need_not_answer(const Episode& e, Speech request, Time asked) {
  const Time due = asked + e.rules.xmit_time_out + e.rules.slack;
  if (!e.undisturbed(asked, due) || e.has_left(asked)) return true;
  return request == Speech::kCapabilities && e.said_first(Speech::kResult) != nullptr &&
         e.said_first(Speech::kResult)->first <= due;
}

// Each request that arrives is answered until the next one may come, up to MaxRetry of them.
Outcome check_answers(const Episode& e, Speech request, Speech answer) {
  const auto answers = e.said(answer);
  std::size_t answered = 0;
  for (const Transmission* const asked : e.heard(request)) {
    if (request == Speech::kCapabilities && !asked->mad.ddr()) continue;
    // Who knows no capabilities has nothing to say to a result.
    if (request == Speech::kResult && !e.both_capable()) continue;
    const Time due = *asked->arrived + e.rules.xmit_time_out + e.rules.slack;
    const bool good = std::any_of(answers.begin(), answers.end(), [&](const Transmission* t) {
      return t->first >= *asked->arrived && t->first <= due;
    });
    if (good) {
      ++answered;
      continue;
    }
    if (need_not_answer(e, request, *asked->arrived)) continue;
    if (answers.size() >= e.rules.max_retry) continue;
    // Of a capture nobody knows which of them arrived.
    if (!e.sees_lines() && !answers.empty()) continue;
    return Outcome::fail(fmt::format("what came {} was not answered", e.at(*asked->arrived)));
  }
  if (answered == 0) return {};
  return Outcome::pass(fmt::format("{} answered, first {}", answered, e.at(answers[0]->first)));
}

// Of what `node` says, its answers are as its requests.
Outcome check_repeats(const Episode& e, Speech request, Speech answer) {
  const Transmission* const asked = e.said_first(request);
  std::size_t alike = 0;
  for (const Transmission* const t : e.said(answer)) {
    if (asked == nullptr || (request == Speech::kCapabilities && !t->mad.ddr())) continue;
    const SeenMad& a = asked->mad;
    const SeenMad& b = t->mad;
    const bool same = a.ddr() == b.ddr() && a.no_sweep() == b.no_sweep() &&
                      a.bandwidth == b.bandwidth && a.iterations == b.iterations &&
                      (a.no_sweep() || a.duration_ms == b.duration_ms);
    if (!same) {
      return Outcome::fail(fmt::format(
          "5G {}, NoSweep {}, bandwidth {}, duration {}, iterations {} {}; before, {}, {}, {}, {} "
          "and {}",
          b.ddr(), b.no_sweep(), b.bandwidth, b.duration_ms, b.iterations, e.at(t->first), a.ddr(),
          a.no_sweep(), a.bandwidth, a.duration_ms, a.iterations));
    }
    ++alike;
  }
  if (alike == 0) return {};
  return Outcome::pass(fmt::format("{} acknowledgement{} alike", alike, alike == 1 ? "" : "s"));
}

}  // namespace

Outcome check_advertises(const Episode& e) {
  if (const Transmission* const request = e.said_first(Speech::kCapabilities)) {
    return found(e, *request);
  }
  if (!e.sees_lines()) {
    // A node that is not capable need not ask, and what was before a capture is not in it.
    const Transmission* const answer = e.said_first(Speech::kCapabilitiesAck);
    if (answer == nullptr || !answer->mad.ddr() || e.first) return {};
    return Outcome::fail("only acknowledgements");
  }
  const Observation* const up = e.link_up(LinkSpeed::kSdr, e.begin);
  if (up == nullptr || !e.undisturbed(up->time, up->time + e.rules.exchange_time())) return {};
  return Outcome::fail("none after the link had come up " + e.at(up->time));
}

Outcome check_acknowledges(const Episode& e) {
  return check_answers(e, Speech::kCapabilities, Speech::kCapabilitiesAck);
}

Outcome check_repeats_capabilities(const Episode& e) {
  return check_repeats(e, Speech::kCapabilities, Speech::kCapabilitiesAck);
}

Outcome check_advertises_result(const Episode& e) {
  if (const Transmission* const request = e.said_first(Speech::kResult)) return found(e, *request);
  if (!e.both_capable()) return {};
  if (!e.sees_lines()) {
    const Transmission* const theirs = e.heard_first(Speech::kResult);
    if (theirs == nullptr || !e.undisturbed(theirs->first, theirs->first + e.rules.ddr_time_out)) {
      return {};
    }
    return Outcome::fail("none, though the peer advertised its own " + e.at(theirs->first));
  }
  Time from = e.learnt(false)->first;
  if (!e.skips_sweep()) {
    const Observation* const sweep = e.sweep();
    const Observation* const up =
        sweep == nullptr ? nullptr : e.link_up(LinkSpeed::kSdr, sweep->time);
    if (up == nullptr) return {};
    from = up->time;
  }
  if (!e.undisturbed(from, from + e.rules.exchange_time())) return {};
  return Outcome::fail("none until " + e.at(e.end).substr(3));
}

Outcome check_acknowledges_result(const Episode& e) {
  return check_answers(e, Speech::kResult, Speech::kResultAck);
}

Outcome check_repeats_result(const Episode& e) {
  return check_repeats(e, Speech::kResult, Speech::kResultAck);
}

Outcome check_answers_only(const Episode& e) {
  std::size_t answers = 0;
  for (const Transmission& t : e.own) {
    if (!t.mad.acknowledge()) continue;
    const auto asked = e.heard(t.mad.serdes_configured() ? Speech::kResult : Speech::kCapabilities);
    const bool due = std::any_of(asked.begin(), asked.end(), [&](const Transmission* request) {
      return *request->arrived <= t.first;
    });
    if (!due) {
      // A capture may begin in the midst of it.
      if (!e.sees_lines() && e.first) continue;
      return Outcome::fail(
          fmt::format("{} {}, before a request", speech_name(t.mad.speech()), e.at(t.first)));
    }
    ++answers;
  }
  if (answers == 0) return {};
  return Outcome::pass(fmt::format("{} after a request", answers));
}

Outcome check_serdes_configured(const Episode& e) {
  const Transmission* const result = e.told(true);
  if (result == nullptr) return {};
  for (const Transmission& t : e.own) {
    if (!t.mad.serdes_configured() && t.first > result->first) {
      return Outcome::fail(
          fmt::format("{} {}, after a result", speech_name(t.mad.speech()), e.at(t.first)));
    }
  }
  if (e.sees_lines() && e.agreed_sweep()) {
    const Observation* const sweep = e.sweep();
    const Observation* const back = sweep == nullptr ? nullptr : e.after(*sweep);
    if (back == nullptr || result->first < back->time) {
      return Outcome::fail("a result " + e.at(result->first) + ", before the sweep was over");
    }
  }
  return Outcome::pass("first " + e.at(result->first));
}

}  // namespace weft::phy::conformance
