// SPDX-License-Identifier: Apache-2.0
// Acknowledgements of every kind (IBA 9.7.5.1, 9.7.5.2).
#include <algorithm>
#include <cassert>

#include "hca/requester.h"

namespace weft::hca {

void Requester::receive(const InPacket& packet, Time now) {
  see(now);
  ConnectedCounters& counters = connection_.counters;
  if (!running()) {
    counters.add_in_turn(ConnectedCounter::kRxWrongState);
    return;
  }
  if (!reliable()) return take_credit(packet);
  if (packet.congestion) congestion_.congested(now_);
  answered_at_ = now_;
  was_absent_ = was_late_ = false;
  stalled_ = false;
  window_used_ = 2 * in_flight_ >= congestion_.bytes();
  sample_sent_at_.reset();
  switch (packet.info->operation) {
    case wire::Operation::acknowledge:
      if (const auto aeth = wire::Aeth::parse(packet.extended)) acknowledge(packet.psn, *aeth);
      break;
    case wire::Operation::read_response:
    case wire::Operation::atomic_acknowledge:
      response(packet);
      break;
    default:
      weft_acknowledge(packet);
      break;
  }
  settle_delivered();
  if (sample_sent_at_) congestion_.sample(now_ - *sample_sent_at_, sample_clean_, now_);
  advance();
  if (selective() && running()) find_lost_packets();
}

// UC hears nothing else.
void Requester::take_credit(const InPacket& packet) {
  const auto credit = Credit::parse(packet.payload);
  if (!paced() || packet.opcode != wire::Opcode::weft_uc_credit || !credit) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxBadResponses);
    return;
  }
  connection_.counters.add_in_turn(ConnectedCounter::kRxCredits);
  pacer_.credit(*credit, now_);
  stalled_ = false;
}

// The serial that `psn` stands for, among what is outstanding and the packet before it; nothing for
// any other.
std::optional<std::uint64_t> Requester::serial_of(Psn psn) const {
  const std::uint64_t oldest = this->oldest();
  const std::int32_t ahead = Psn::diff(psn, this->psn(oldest));
  if (ahead < -1 || (ahead == -1 && oldest == 0)) return std::nullopt;
  const std::uint64_t serial = oldest + static_cast<std::uint64_t>(std::int64_t{ahead});
  if (serial >= next_serial_) return std::nullopt;
  return serial;
}

// The first record at or after `serial`.
std::size_t Requester::index_of(std::uint64_t serial) const {
  std::size_t low = 0;
  std::size_t high = records_.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const PacketRecord& record = records_[middle];
    if (record.serial + record.count <= serial) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

PacketRecord* Requester::find(std::uint64_t serial) {
  const std::size_t i = index_of(serial);
  if (i == records_.size() || records_[i].serial > serial) return nullptr;
  return &records_[i];
}

void Requester::acknowledge(Psn psn, const wire::Aeth& aeth) {
  ConnectedCounters& counters = connection_.counters;
  const auto serial = serial_of(psn);
  const wire::AckType type = aeth.syndrome.type();
  // The last acknowledgement may come again with new credits; nothing else is said twice.
  if (!serial || (*serial < oldest() && type != wire::AckType::ack)) {
    counters.add_in_turn(ConnectedCounter::kRxGhostAcks);
    return;
  }
  switch (type) {
    case wire::AckType::ack:
      counters.add_in_turn(ConnectedCounter::kRxAcks);
      acknowledge_through(*serial + 1);
      take_credits(aeth);
      break;
    case wire::AckType::rnr_nak:
      counters.add_in_turn(ConnectedCounter::kRxRnrNaks);
      acknowledge_through(*serial);
      receiver_not_ready(*serial, aeth.syndrome.value());
      break;
    case wire::AckType::nak:
      counters.add_in_turn(ConnectedCounter::kRxNaks);
      acknowledge_through(*serial);
      refused_by_peer(*serial, static_cast<wire::NakCode>(aeth.syndrome.value()));
      break;
    case wire::AckType::reserved:
      counters.add_in_turn(ConnectedCounter::kRxBadResponses);
      break;
  }
}

void Requester::weft_acknowledge(const InPacket& packet) {
  const auto ack = wire::WeftAck::parse(packet.payload);
  if (packet.opcode != wire::Opcode::weft_rc_acknowledge || !ack) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxBadResponses);
    return;
  }
  // The packet before the first one is acknowledged by a peer that has only seen what came later.
  const bool nothing_yet = oldest() == 0 && packet.psn == psn(0) - 1;
  const auto serial = serial_of(packet.psn);
  if (!serial && !nothing_yet) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxGhostAcks);
    return;
  }
  if (ack->window != 0) granted_ = ack->window;
  if (serial) {
    acknowledge(packet.psn, ack->aeth);
  } else {
    connection_.counters.add_in_turn(ConnectedCounter::kRxAcks);
  }
  const std::uint64_t base = (serial ? *serial + 1 : 0) + 1;
  if (ack->words == 0) return;
  // The peer has heard of the agreement before us. Until then a gap is one to a standard requester.
  if (!selective()) return missing_at_peer(base - 1);
  for (std::size_t i = index_of(base); i < records_.size(); ++i) {
    PacketRecord& record = records_[i];
    if (record.serial < base) continue;
    const std::uint64_t bit = record.serial - base;
    if (bit >= std::uint64_t{ack->words} * 32) break;
    if (ack->has(static_cast<std::uint32_t>(bit))) mark_delivered(record);
  }
}

// A Weft responder that keeps what comes after a gap sends no NAK, and says so again and again:
// that costs no retry.
void Requester::missing_at_peer(std::uint64_t serial) {
  const PacketRecord* const record = find(serial);
  if (!running() || record == nullptr || goes_again(*record)) return;
  congestion_.lost(record->sent_at, now_);
  go_back(serial, true);
}

// Every request that begins below `end` was carried out.
void Requester::acknowledge_through(std::uint64_t end) {
  acked_end_ = std::max(acked_end_, end);
  for (std::size_t i = mark_plain(end); i < records_.size() && records_[i].serial < end; ++i) {
    PacketRecord& record = records_[i];
    mark_delivered(record);
    if (!record.fetches) continue;
    // Its response was sent before, and has not arrived: an implied NAK (IBA 9.7.5.1.3).
    Fetch& fetch = fetch_of(record);
    if (!fetch.complete()) note_gap(record, fetch);
  }
}

// As mark_delivered(), of the oldest records below `end` as long as nothing is special about them:
// how many. What is to be said of the newest of these holds for all.
std::size_t Requester::mark_plain(std::uint64_t end) {
  const auto plain = [end](const PacketRecord& record) {
    return record.serial < end && !record.fetches && !record.delivered && !record.lost &&
           !record.resent;
  };
  if (trial_) return 0;
  std::size_t count = 0;
  std::uint64_t cost = 0;
  bool wide = false;
  for (; count < records_.size() && plain(records_[count]); ++count) {
    PacketRecord& record = records_[count];
    record.delivered = true;
    cost += record.cost;
    wide = wide || record.wide;
  }
  if (count == 0) return 0;
  const PacketRecord& newest = records_[count - 1];
  if (wide) wide_delivered_at_ = now_;
  assert(in_flight_ >= cost);
  in_flight_ -= cost;
  arrived_bytes_ += cost;
  arrived_packets_ += static_cast<std::uint32_t>(count);
  progress();
  take_sample(newest);
  note_newest(newest);
  return count;
}

// For the first time, and at the first attempt, it is known of a packet that it has arrived.
void Requester::take_sample(const PacketRecord& record) {
  if (!sample_sent_at_ || record.sent_at > *sample_sent_at_) sample_sent_at_ = record.sent_at;
  sample_clean_ = fetches_.empty();
}

void Requester::note_newest(const PacketRecord& record) {
  if (record.order <= newest_order_) return;
  newest_order_ = record.order;
  newest_sent_at_ = record.sent_at;
}

// The responder has the packet; of a data packet nothing more is to be sent.
void Requester::mark_delivered(PacketRecord& record) {
  if (record.delivered) return;
  record.delivered = true;
  if (record.wide) wide_delivered_at_ = now_;
  if (trial_ == record.serial) {
    trial_.reset();
    if (!record.resent) {
      connection_.narrow = false;
      trial_pause_ = kFirstTrial;
    }
  }
  if (!record.fetches) {
    if (record.lost) {
      record.lost = false;
      --lost_count_;
    } else {
      assert(in_flight_ >= record.cost);
      in_flight_ -= record.cost;
    }
    arrived_bytes_ += record.cost;
    ++arrived_packets_;
  }
  progress();
  if (!record.resent) {
    take_sample(record);
  } else if (may_be_earlier(record)) {
    return;
  }
  note_newest(record);
}

// What an acknowledgement has told, all at once: the arithmetic costs more than the packets.
void Requester::settle_delivered() {
  if (arrived_packets_ == 0) return;
  congestion_.delivered(arrived_bytes_, arrived_packets_, window_used_, now_);
  arrived_bytes_ = 0;
  arrived_packets_ = 0;
}

// Whether it may be the transmission before the last that has arrived: the last one is too recent,
// and the one before is not so old that its answer should have come long ago. A lone packet can be
// answered much sooner than the least round trip that was measured on full runs.
bool Requester::may_be_earlier(const PacketRecord& record) const {
  const Duration round_trip = congestion_.round_trip().value_or(kLeastProbe);
  return now_ - record.sent_at < congestion_.least_round_trip() / 4 * 3 &&
         now_ - record.before_at < 2 * round_trip;
}

// IBA 9.7.5.2.8: the responder has dropped this packet and all after it.
void Requester::receiver_not_ready(std::uint64_t serial, std::uint8_t timer) {
  if (rnr_until_ && rnr_serial_ == serial) return;  // the same one again
  const std::uint8_t most = connection_.rnr_retry;
  if (rnr_serial_ != serial) rnr_retries_ = 0;
  rnr_serial_ = serial;
  if (most != 7 && rnr_retries_ >= most) {
    doom(find(serial)->request, CompletionStatus::kRnrRetryExceeded);
    return;
  }
  ++rnr_retries_;
  wide_delivered_at_ = now_;  // it was seen, however long it is
  go_back(serial, false);
  rnr_until_ = now_ + wire::rnr_timer(timer);
  retries_ = 0;
}

void Requester::refused_by_peer(std::uint64_t serial, wire::NakCode code) {
  PacketRecord& record = *find(serial);
  // It was asked for twice, and has come.
  if (record.fetches && fetch_of(record).complete()) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxGhostAcks);
    return;
  }
  const std::uint64_t request = record.request;
  switch (code) {
    case wire::NakCode::psn_sequence_error:
      sequence_error(serial);
      break;
    case wire::NakCode::invalid_request:
      doom(request, CompletionStatus::kRemoteInvalidRequest);
      break;
    case wire::NakCode::remote_access_error:
      doom(request, CompletionStatus::kRemoteAccessError);
      break;
    case wire::NakCode::remote_operational_error:
      doom(request, CompletionStatus::kRemoteOperationError);
      break;
    default:
      connection_.counters.add_in_turn(ConnectedCounter::kRxBadResponses);
      break;
  }
}

// IBA 9.7.7.2.3: the limit is what the peer has completed and what it can still take.
void Requester::take_credits(const wire::Aeth& aeth) {
  const auto credits = wire::credits_of(aeth.syndrome.value());
  if (!credits) {
    limit_.reset();
    return;
  }
  limit_ = (aeth.msn + *credits) & Psn::kMask;
}

// Something came back: the peer is there.
void Requester::progress() {
  timer_from_ = probe_from_ = now_;
  probes_ = 0;
  retries_ = 0;
}

// Drops what is done with, oldest first.
void Requester::advance() {
  while (!records_.empty()) {
    const PacketRecord& record = records_.front();
    if (record.out) break;
    if (record.fetches ? !fetches_.front().complete() : record.serial >= acked_end_) break;
    if (record.fetches) {
      fetch_cost_ -= fetches_.front().cost;
      fetches_.pop_front();
    }
    if (record.lost) --lost_count_;
    span_cost_ -= record.cost;
    records_.pop_front();
  }
  assert(records_.size() >= lost_count_);
  if (records_.empty()) {
    loss_at_.reset();
    records_.rest(kKeptRecords);
  }
  settle();
}

}  // namespace weft::hca
