// SPDX-License-Identifier: Apache-2.0
// Counts and times: the variables and parameters of clause 2.2.
#include <fmt/format.h>

#include <algorithm>

#include "phy/conformance/checks.h"

namespace weft::phy::conformance {
namespace {

double to_ms(Duration time) {
  return static_cast<double>(time.count()) / 1e6;
}

// Of what was seen from its first copy to its last.
bool seen_whole(const Episode& e, const Transmission& t) {
  const Duration window = e.rules.xmit_time_out / 4;
  if (t.last + window > e.exchange->end) return false;
  // A capture may begin in the midst of one.
  if (!e.sees_lines() && e.first && &t == &e.own.front()) return false;
  // And the link may go in the midst of one.
  return e.undisturbed(t.first, t.last);
}

constexpr Speech kRequests[] = {Speech::kCapabilities, Speech::kResult};

Speech answer_to(Speech request) {
  return request == Speech::kResult ? Speech::kResultAck : Speech::kCapabilitiesAck;
}

}  // namespace

Outcome check_burst(const Episode& e) {
  std::size_t seen = 0;
  for (const Transmission& t : e.own) {
    if (!seen_whole(e, t)) continue;
    if (t.copies != e.rules.burst_len) {
      return Outcome::fail(fmt::format("{} copies of a {} {}, not {}", t.copies,
                                       speech_name(t.mad.speech()), e.at(t.first),
                                       e.rules.burst_len));
    }
    ++seen;
  }
  if (seen == 0) return {};
  return Outcome::pass(fmt::format("{} copies in each of {}", e.rules.burst_len, seen));
}

Outcome check_retries(const Episode& e) {
  std::size_t most = 0;
  for (const Speech request : kRequests) {
    const auto sent = e.said(request);
    most = std::max(most, sent.size());
    if (sent.size() > e.rules.max_retry) {
      return Outcome::fail(fmt::format("{} transmissions of a {}, the last {}", sent.size(),
                                       speech_name(request), e.at(sent.back()->first)));
    }
    const bool silent = e.heard(request).empty() && e.heard(answer_to(request)).empty();
    if (sent.empty() || !silent || sent.size() == e.rules.max_retry) continue;
    const Time first = sent.front()->first;
    if (!e.undisturbed(first, first + e.rules.exchange_time())) continue;
    return Outcome::fail(fmt::format("{} transmissions of a {} that nobody answered", sent.size(),
                                     speech_name(request)));
  }
  if (most == 0) return {};
  return Outcome::pass(fmt::format("{} at most", most));
}

Outcome check_ack_retries(const Episode& e) {
  std::size_t most = 0;
  for (const Speech request : kRequests) {
    const auto sent = e.said(answer_to(request));
    most = std::max(most, sent.size());
    if (sent.size() <= e.rules.max_retry) continue;
    return Outcome::fail(fmt::format("{} transmissions of a {}, the last {}", sent.size(),
                                     speech_name(answer_to(request)), e.at(sent.back()->first)));
  }
  if (most == 0) return {};
  return Outcome::pass(fmt::format("{} at most", most));
}

Outcome check_xmit_time_out(const Episode& e) {
  std::size_t gaps = 0;
  for (const Speech request : kRequests) {
    const auto sent = e.said(request);
    for (std::size_t i = 1; i < sent.size(); ++i) {
      const Duration gap = sent[i]->first - sent[i - 1]->first;
      if (gap + e.rules.slack < e.rules.xmit_time_out) {
        return Outcome::fail(fmt::format("a {} {}, {:.3f} ms after the one before",
                                         speech_name(request), e.at(sent[i]->first), to_ms(gap)));
      }
      ++gaps;
    }
  }
  if (gaps == 0) return {};
  return Outcome::pass(fmt::format("{} repetitions", gaps));
}

Outcome check_answered(const Episode& e) {
  std::size_t answered = 0;
  for (const Speech request : kRequests) {
    const auto acknowledgements = e.heard(answer_to(request));
    if (acknowledgements.empty() || e.said(request).empty()) continue;
    const Time heard = *acknowledgements.front()->arrived + e.rules.slack;
    for (const Transmission* const t : e.said(request)) {
      if (t->first <= heard) continue;
      // Nobody knows whether what a capture has arrived.
      if (!e.sees_lines()) return {};
      return Outcome::fail(
          fmt::format("a {} {}, after its acknowledgement", speech_name(request), e.at(t->first)));
    }
    ++answered;
  }
  if (answered == 0) return {};
  return Outcome::pass(fmt::format("{} exchange{}", answered, answered == 1 ? "" : "s"));
}

Outcome check_ddr_time_out(const Episode& e) {
  const Observation* const gone = e.line(LinkSpeed::kDdr, LineUse::kTrain, e.begin);
  if (gone == nullptr || e.link_up(LinkSpeed::kDdr, gone->time) != nullptr) return {};
  const Observation* const back = e.after(*gone);
  const Time due = gone->time + e.rules.ddr_time_out;
  const Duration late = e.rules.xmit_time_out + e.rules.slack;
  if (back == nullptr) {
    if (due + late > e.end) return {};
    return Outcome::fail("still waiting for DDR " + e.at(e.end));
  }
  const auto text = fmt::format("back after {:.3f} ms at DDR", to_ms(back->time - gone->time));
  const bool good = back->speed == LinkSpeed::kSdr && back->time + e.rules.slack >= due &&
                    back->time <= due + late;
  return good ? Outcome::pass(text) : Outcome::fail(text);
}

}  // namespace weft::phy::conformance
