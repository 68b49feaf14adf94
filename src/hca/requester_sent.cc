// SPDX-License-Identifier: Apache-2.0
// What became of a burst that the wire was offered.
#include <algorithm>
#include <cassert>

#include "hca/requester.h"

namespace weft::hca {

void Requester::sent(const Burst& burst, SendResult result, Time now) {
  see(now);
  assert(out_.active);
  pins_.release();
  out_.active = false;
  for (const std::uint32_t area : out_.areas)
    areas_.give_back(area);
  out_.areas.clear();
  stalled_ = false;
  if (out_.abandoned) {
    out_.forget_packets();
    return;
  }
  if (result.outcome == SendOutcome::kWouldBlock) {
    take_back();
  } else if (result.outcome == SendOutcome::kRefused &&
             result.reason != CompletionStatus::kSuccess) {
    refused(result.reason);
  } else {
    ConnectedCounters& counters = connection_.counters;
    if (result.outcome == SendOutcome::kRefused) {
      // As if it were lost on the way: who is reliable sends it again.
      counters.add_in_turn(ConnectedCounter::kTxRefused, burst.size());
    } else {
      std::uint64_t bytes = 0;
      for (const OutPacket& packet : burst.packets())
        bytes += packet.payload_length;
      counters.add_in_turn(ConnectedCounter::kTxPackets, burst.size());
      counters.add_in_turn(ConnectedCounter::kTxBytes, bytes);
    }
    confirm();
  }
  out_.forget_packets();
  advance();
}

// The wire has it.
void Requester::confirm() {
  if (!reliable()) {  // nobody will say more (IBA 9.8.2.2.1), and nothing is remembered
    one_by_one_ -= std::min(one_by_one_, out_.packets);
    acked_end_ = next_serial_;
    return;
  }
  if (next_serial_ != out_.before.next_serial && out_.before.next_serial == oldest()) {
    timer_from_ = now_;  // nothing was outstanding
  }
  std::uint64_t again = 0;
  std::size_t next = 0;  // the record behind that of the packet before: most packets follow it
  for (const Out::Run& run : out_.runs) {
    if (next >= records_.size() || records_[next].serial != run.serial) {
      next = index_of(run.serial);
    }
    assert(records_[next].serial == run.serial);
    for (const std::size_t end = next + run.packets; next < end; ++next)
      records_[next].out = false;
    again += run.again ? 1 : 0;
  }
  if (again > 0) connection_.counters.add_in_turn(ConnectedCounter::kTxRetransmitted, again);
  probe_from_ = now_;
  one_by_one_ -= std::min(one_by_one_, out_.packets);
}

// The wire took nothing: as if the burst had not been filled. What was learnt meanwhile stays.
void Requester::take_back() {
  const Checkpoint& before = out_.before;
  if (out_.whole) trial_.reset();
  for (const Out::Run& packet : out_.runs) {
    if (!packet.again) continue;
    PacketRecord* const record = find(packet.serial);
    assert(record != nullptr);
    record->out = false;
    --record->tries;
    if (record->fetches) fetch_of(*record).ask_from = packet.ask_from;
    const bool done = record->fetches ? fetch_of(*record).complete() : record->delivered;
    if (!done) mark_lost(*record);
  }
  if (!reliable()) next_serial_ = before.next_serial;
  while (next_serial_ != before.next_serial) {
    PacketRecord& record = records_.back();
    next_serial_ -= record.count;
    if (record.lost) {
      --lost_count_;
    } else if (!record.delivered) {
      in_flight_ -= record.cost;
    }
    span_cost_ -= record.cost;
    if (record.fetches) {
      fetch_cost_ -= fetches_.back().cost;
      fetches_.pop_back();
    }
    records_.pop_back();
  }
  // Local work that was done is not undone, and may even be complete by now.
  const std::uint64_t first = std::max(before.next_request, first_request_);
  for (std::uint64_t n = first; n < next_request_; ++n) {
    if (!is_local(slot(n).opcode)) slot(n).finished = false;
  }
  acked_end_ = std::min(acked_end_, next_serial_);
  next_request_ = first;
  next_offset_ = before.next_offset;
  pass_done_local();
  ssn_ = before.ssn;
  since_ask_ = before.since_ask;
  last_asked_ = before.last_asked;
  if (paced()) pacer_.roll_back(before.pacer);
  queued_bytes_ += out_.queued_bytes;
  queued_packets_ += out_.queued_packets;
}

// The memory of a packet cannot be read after all.
void Requester::refused(CompletionStatus reason) {
  const std::size_t count = out_.packets;
  const std::uint64_t serial = out_.runs.front().serial;
  const std::uint64_t request = reliable() ? find(serial)->request : out_.before.next_request;
  take_back();
  if (count > 1) {  // which one is at fault shows when they go one by one
    one_by_one_ = count;
    return;
  }
  connection_.counters.add_in_turn(ConnectedCounter::kTxRefused);
  doom(request, reason);
}

bool Requester::has_work() const {
  if (out_.active || stalled_ || !running() || rnr_until_) return false;
  return lost_count_ > 0 || (unsent() && !waits_turn_) || (tail_unasked() && !more_expected_);
}

}  // namespace weft::hca
