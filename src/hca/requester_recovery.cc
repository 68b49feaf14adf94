// SPDX-License-Identifier: Apache-2.0
// What is taken for lost, and when (IBA 9.7.6). To a standard peer everything from the first packet
// missing on; to a Weft peer what others have overtaken: a packet is lost when one that was sent at
// least kReorder transmissions and a quarter of a round trip later has arrived.
#include <algorithm>
#include <cassert>

#include "hca/requester.h"

namespace weft::hca {
namespace {

// The local ACK timeout (IBA 9.7.6.1.3): 4.096 us * 2^n.
constexpr Duration kTimeoutUnit{4096};
// Deadlines are met within a fraction of a millisecond. Whoever comes so late had no processor, and
// has not looked at what arrived meanwhile: what it did not hear was not silence.
constexpr Duration kAbsent = 20ms;
// A probe is due much sooner, and a program that posts after a pause may come before the thread
// which would have read first.
constexpr Duration kProbeAbsent = 1ms;
// Timers of user space are no finer.
constexpr Duration kLeastReorder = 50us;

}  // namespace

void Requester::mark_lost(PacketRecord& record) {
  if (record.lost) return;
  record.lost = true;
  ++lost_count_;
  lost_from_ = std::min(lost_from_, record.serial);
  if (lost_count_ == 1) lost_from_ = record.serial;
  if (record.fetches) {
    fetch_of(record).ask_from = 0;
  } else {
    assert(!record.delivered && in_flight_ >= record.cost);
    in_flight_ -= record.cost;
  }
}

// What a bitmap said of a packet does not count any more.
void Requester::forget_delivery(PacketRecord& record) {
  if (!record.delivered || record.fetches || record.serial < acked_end_) return;
  record.delivered = false;
  in_flight_ += record.cost;
}

// Everything from `serial` on goes again, but what has arrived.
void Requester::go_back(std::uint64_t serial, bool believe_bitmap) {
  for (std::size_t i = index_of(serial); i < records_.size(); ++i) {
    PacketRecord& record = records_[i];
    if (!believe_bitmap) forget_delivery(record);
    const bool done = record.fetches ? fetch_of(record).complete() : record.delivered;
    if (!done) mark_lost(record);
  }
}

// One gap, one NAK: what is missing waits to be sent again, or was just now and is on its way.
bool Requester::goes_again(const PacketRecord& record) const {
  return record.lost ||
         (record.resent && now_ - record.sent_at < congestion_.least_round_trip() / 2);
}

// The responder, or the order of its responses, says that what begins at `serial` has not arrived.
void Requester::sequence_error(std::uint64_t serial) {
  const PacketRecord& record = *find(serial);
  if (goes_again(record)) return;
  congestion_.lost(record.sent_at, now_);
  if (!selective() && !spend_retry()) return;
  go_back(serial, true);
}

// False when there was none left, nor another path (IBA 17.2.8): the oldest request fails.
bool Requester::spend_retry() {
  if (retries_ >= connection_.retry_count) {
    if (connection_.migrate()) {
      retries_ = 0;
      return true;
    }
    doom(first_request_, CompletionStatus::kTransportRetryExceeded);
    return false;
  }
  ++retries_;
  return true;
}

Duration Requester::reorder_time() const {
  return std::max(congestion_.round_trip().value_or(kLeastProbe) / 4, Duration{kLeastReorder});
}

void Requester::loss_check_at(Time at) {
  if (!loss_at_ || at < *loss_at_) loss_at_ = at;
}

void Requester::find_losses() {
  loss_at_.reset();
  find_lost_packets();
  find_lost_responses();
}

void Requester::find_lost_packets() {
  const Duration reorder = reorder_time();
  const Duration round_trip = congestion_.round_trip().value_or(kLeastProbe);
  for (std::size_t i = 0; i < records_.size(); ++i) {
    PacketRecord& record = records_[i];
    if (record.order >= newest_order_) {
      // Those behind it were first sent later, and again later still. What was sent again may stand
      // before some that went sooner.
      if (!record.resent) break;
      continue;
    }
    if (record.delivered || record.lost || record.out) continue;
    const Duration overtaken = newest_sent_at_ - record.sent_at;
    // Few have overtaken it, but one of them by a whole round trip: the order on the way is not
    // that loose.
    if (record.order + kReorder > newest_order_ && overtaken < round_trip) continue;
    const Time at = record.sent_at + round_trip + reorder;
    if (overtaken >= reorder || at <= now_) {
      congestion_.lost(record.sent_at, now_);
      mark_lost(record);
      stalled_ = false;
    } else {
      loss_check_at(at);
    }
  }
}

void Requester::find_lost_responses() {
  for (std::size_t i = 0; i < fetches_.size(); ++i) {
    Fetch& fetch = fetches_[i];
    if (!fetch.gap_at || fetch.complete()) continue;
    PacketRecord& record = *find(fetch.serial);
    const auto at = gap_deadline(record, fetch);
    if (!at) continue;
    if (*at <= now_) {
      fetch.gap_at.reset();
      mark_lost(record);
      stalled_ = false;
    } else {
      loss_check_at(*at);
    }
  }
}

std::optional<Time> Requester::timeout_at() const {
  if (connection_.ack_timeout == 0 || !awaits_response()) return std::nullopt;
  const Duration timeout = kTimeoutUnit * (std::int64_t{1} << (connection_.ack_timeout & 31));
  return timer_from_ + std::max(timeout, Duration{kLeastTimeout});
}

std::optional<Time> Requester::probe_at() const {
  if (!selective() || !awaits_response()) return std::nullopt;
  const auto round_trip = congestion_.round_trip();
  const Duration first =
      round_trip ? std::max(3 * *round_trip, Duration{kLeastProbe}) : kFirstProbe;
  return probe_from_ + std::min(first * (1 << std::min(probes_, 8u)), Duration{kMostProbe});
}

std::optional<Time> Requester::deadline() const {
  if (out_.active || !running()) return std::nullopt;
  if (paced_until_) return paced_until_;
  if (rnr_until_) return rnr_until_;
  std::optional<Time> first = loss_at_;
  if (records_.empty()) return first;
  for (const auto& at : {timeout_at(), probe_at()}) {
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

void Requester::expire(Time now) {
  see(now);
  // Most calls come long before anything can be due.
  const Duration silent = now_ - std::min(timer_from_, probe_from_);
  if (silent < kLeastTimeout && !rnr_until_ && !loss_at_) return;
  if (out_.active || !running()) return;
  if (rnr_until_) {
    if (*rnr_until_ > now_) return;
    rnr_until_.reset();
    stalled_ = false;
    timer_from_ = probe_from_ = now_;
  }
  if (loss_at_ && *loss_at_ <= now_) find_losses();
  const auto timeout = timeout_at();
  const auto probe = probe_at();
  // Once: what had arrived by then is read before it is late again.
  const bool absent = timeout && *timeout + kAbsent <= now_ && !was_absent_;
  if (absent) {
    timer_from_ = now_;
    was_absent_ = true;
  }
  const bool late = probe && *probe + kProbeAbsent <= now_ && !was_late_;
  if (late) {
    probe_from_ = now_;
    was_late_ = true;
  }
  if (timeout && *timeout <= now_ && !absent) {
    time_out();
  } else if (probe && *probe <= now_ && !late) {
    this->probe();
  }
}

// Nothing came back for the whole of the local ACK timeout (IBA 9.7.6.1.3).
void Requester::time_out() {
  connection_.counters.add_in_turn(ConnectedCounter::kTxTimeouts);
  timer_from_ = probe_from_ = now_;
  stalled_ = false;
  if (!spend_retry()) {
    settle();
    return;
  }
  congestion_.timed_out(now_);
  // A peer that keeps what came after a gap is not asked to take it again, unless it seems to have
  // forgotten.
  const PacketRecord& front = records_.front();
  const bool forgotten = front.delivered && !front.fetches;
  for (std::size_t i = 0; i < fetches_.size(); ++i)
    fetches_[i].gap_at.reset();
  go_back(oldest(), !forgotten);
}

// The last packets, or what was said about them, may be lost: nothing that came later can tell. One
// packet goes again, long before the timeout.
void Requester::probe() {
  connection_.counters.add_in_turn(ConnectedCounter::kTxProbes);
  ++probes_;
  probe_from_ = now_;
  stalled_ = false;
  PacketRecord& record = records_.front();
  forget_delivery(record);
  if (record.fetches || !record.delivered) mark_lost(record);
}

bool Requester::awaits(Psn psn) const {
  const auto serial = serial_of(psn);
  return serial && *serial >= oldest();
}

void Requester::ask_again(Time now) {
  see(now);
  if (out_.active || !running() || rnr_until_ || records_.empty()) return;
  if (selective()) {
    probe();
    return;
  }
  stalled_ = false;
  go_back(oldest(), true);
}

void Requester::give_up(Time now) {
  see(now);
  if (!running()) return;
  doom(first_request_, CompletionStatus::kTransportRetryExceeded);
  settle();
}

}  // namespace weft::hca
