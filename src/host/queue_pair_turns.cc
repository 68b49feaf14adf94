// SPDX-License-Identifier: Apache-2.0
// When the requests of a queue pair may go, where its context has many.
#include "host/context.h"
#include "host/queue_pair.h"

namespace weft::host {

bool QueuePair::ask_for_turn(Time now) {
  SendTurns& turns = context_->send_turns();
  if (turn_ == Turn::kNone && !turns.needed()) return false;
  if (turn_ == Turn::kSpent || core_->queued_packets() == 0 || !hca::is_reliable(type())) {
    return false;
  }
  using Answer = SendTurns::Answer;
  const Answer answer = turns.ask(turns_, now);
  turn_ = answer == Answer::kMay     ? Turn::kHas
          : answer == Answer::kSpent ? Turn::kSpent
                                     : Turn::kWaits;
  core_->hold_requests(turn_ != Turn::kHas);
  return answer == Answer::kFirstToWait;
}

bool QueuePair::fill(hca::Burst& burst, Time now) {
  const bool filled = core_->next_burst(burst, now);
  if (turn_ != Turn::kHas) return filled;
  if (filled) {
    context_->send_turns().sends(turns_, burst.bytes());
  } else {
    end_pass();
  }
  return filled;
}

// What an acknowledgement frees of the window before all is answered waits for the next turn, if
// others wait for theirs.
void QueuePair::end_pass() {
  SendTurns& turns = context_->send_turns();
  turn_ = Turn::kPassed;
  turns.passed(turns_);
  if (!turns.somebody_waits()) return;
  turn_ = Turn::kSpent;
  core_->hold_requests(true);
}

void QueuePair::end_turn_if_done() {
  if (turn_ == Turn::kNone || turn_ == Turn::kHas) return;
  // What waited may have been flushed.
  const bool more = turn_ == Turn::kWaits ? core_->queued_packets() > 0 : core_->awaits_answers();
  if (more) return;
  context_->send_turns().done(turns_);
  turn_ = Turn::kNone;
  core_->hold_requests(false);
}

}  // namespace weft::host
