// SPDX-License-Identifier: Apache-2.0
// Which requests a responder executes: sequence numbers, gaps, duplicates.
#include "hca/responder.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::hca {

Responder::Responder(Connection& connection, MemoryTable& memory, CompletionSink& completions,
                     ReceiveSource& source, XrcQueues* queues)
    : connection_(connection),
      memory_(memory),
      completions_(completions),
      source_(source),
      queues_(queues),
      target_(memory),
      pins_(memory) {
}

void Responder::start(Psn first) {
  expected_ = first;
  granter_.start(first);
}

void Responder::reset() {
  in_flight_.abandoned = in_flight_.out;
  target_.release();
  expected_ = Psn{};
  msn_ = 0;
  silent_ = failing_ = false;
  events_ = 0;
  message_ = Message{};
  receive_.held = false;
  reorder_.clear();
  answers_.clear();
  kept_.clear();
  oldest_kept_ = 0;
  ack_due_ = ack_now_ = gap_news_ = cnp_due_ = false;
  nak_.reset();
  unacknowledged_bytes_ = unacknowledged_packets_ = 0;
  told_window_ = 0;
  told_credits_ = wire::Syndrome::kNoCredits;
  last_cnp_.reset();
  granter_ = UcGranter{};
  one_by_one_ = 0;
}

void Responder::flush() {
  if (receive_.held) {
    const Source source = source_for(message_.srq);
    if (source.completions != nullptr) {
      Completion completion{.status = CompletionStatus::kFlushed};
      complete_receive(source, completion);
    }
  }
  reset();
  failing_ = true;  // until start() or reset(), nothing is executed
}

void Responder::receive(const InPacket& packet, Time now) {
  see(now);
  if (failing_) return;
  if (!reliable()) return receive_unreliable(packet);
  const std::int32_t ahead = Psn::diff(packet.psn, expected_);
  if (ahead < 0) return receive_duplicate(packet);
  if (ahead > 0) return receive_ahead(packet);
  const bool gap = !reorder_.empty();
  receive_next(packet);
  if (gap) drain();
}

// IBA 9.8.2.3.1: a packet that was not expected ends the message that was arriving, and what is
// left of it is skipped up to the beginning of another one.
void Responder::receive_unreliable(const InPacket& packet) {
  if (grants()) {
    const std::uint32_t lost = granter_.lost();
    granter_.arrived(packet.psn, packet.ack_request);
    // Modulo 2^64, so that a late packet takes its loss back.
    const auto more = static_cast<std::int32_t>(granter_.lost() - lost);
    if (more != 0) count(ConnectedCounter::kRxLost, static_cast<std::uint64_t>(more));
  }
  const bool gap = packet.psn != expected_;
  if (message_.active && (gap || packet.info->starts_message())) {
    count(ConnectedCounter::kRxMessagesAbandoned);
    message_.active = false;
  }
  if (gap) count(ConnectedCounter::kRxOutOfOrder);
  expected_ = packet.psn + 1;
  if (!message_.active && !packet.info->starts_message()) return;
  execute(packet);
}

void Responder::receive_next(const InPacket& packet) {
  silent_ = false;
  nak_.reset();
  const Psn before = expected_;
  if (execute(packet) != Verdict::kDone) return;
  if (expected_ == before) ++expected_;  // a read has taken as many as its answer has packets
  note_executed(packet);
  if (!reorder_.empty()) reorder_.remove_before(before, expected_);
}

void Responder::note_executed(const InPacket& packet) {
  unacknowledged_bytes_ += static_cast<std::uint32_t>(packet.payload.size());
  ++unacknowledged_packets_;
  const bool answered = packet.info->operation == wire::Operation::read_request ||
                        packet.info->operation == wire::Operation::compare_swap ||
                        packet.info->operation == wire::Operation::fetch_add;
  if (answered) {
    ack_due_ = ack_now_ = false;
    unacknowledged_bytes_ = unacknowledged_packets_ = 0;
  } else if (packet.ack_request) {
    ack_due_ = true;
  }
}

// What has waited for the gap to close.
void Responder::drain() {
  while (!failing_ && !silent_) {
    const InPacket* const packet = reorder_.find(expected_);
    if (packet == nullptr) break;
    receive_next(*packet);  // removes it, unless it found no receive request
  }
  if (!failing_ && !silent_) gap_news_ = true;
}

// IBA 9.7.5.1.1: one NAK for each gap, then silence until the packet comes that it asked for. A
// Weft peer is told at the end of the run what has arrived, and need not send that again.
void Responder::receive_ahead(const InPacket& packet) {
  count(ConnectedCounter::kRxOutOfOrder);
  if (!extended()) {
    if (std::exchange(silent_, true)) return;
    nak_ = {wire::Syndrome::nak(wire::NakCode::psn_sequence_error), expected_};
    return;
  }
  switch (reorder_.insert(packet, expected_)) {
    case ReorderBuffer::Insert::kKept:
      count(ConnectedCounter::kRxBuffered);
      break;
    case ReorderBuffer::Insert::kDuplicate:
      count(ConnectedCounter::kRxDuplicates);
      break;
    case ReorderBuffer::Insert::kNoRoom:
      break;
  }
  ++unacknowledged_packets_;
  unacknowledged_bytes_ += static_cast<std::uint32_t>(packet.payload.size());
  if (!silent_) gap_news_ = true;  // after an RNR NAK the peer waits, and is to do so
}

// IBA 9.7.5.1.4: what changed memory is not done again, only acknowledged.
void Responder::receive_duplicate(const InPacket& packet) {
  count(ConnectedCounter::kRxDuplicates);
  const wire::Operation operation = packet.info->operation;
  const bool atomic =
      operation == wire::Operation::compare_swap || operation == wire::Operation::fetch_add;
  if (!atomic && operation != wire::Operation::read_request) {
    ack_due_ = true;
    return;
  }
  // Newest first: numbers come again after 2^24 packets.
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    Kept& kept = kept_[(oldest_kept_ + kept_.size() - 1 - i) % kept_.size()];
    const std::int32_t into = Psn::diff(packet.psn, kept.psn);
    if (into < 0 || into >= static_cast<std::int64_t>(kept.packets)) continue;
    if (kept.atomic == atomic) replay(packet, kept);
    return;
  }
}

void Responder::replay(const InPacket& packet, Kept& kept) {
  Answer answer{.atomic = kept.atomic,
                .replay = true,
                .psn = packet.psn,
                .msn = kept.msn,
                .pd = kept.pd,
                .reth = kept.reth,
                .original = kept.original};
  if (!kept.atomic) {
    // The same read, or the end of it, or any part between (IBA 9.7.5.1.4: a requester resumes a
    // read in the middle).
    const wire::Reth reth = parse_headers(packet).reth;
    const auto into = static_cast<std::uint32_t>(Psn::diff(packet.psn, kept.psn));
    const std::uint64_t skipped = std::uint64_t{into} * connection_.mtu;
    if (reth.rkey != kept.reth.rkey ||
        reth.virtual_address != kept.reth.virtual_address + skipped ||
        reth.dma_length > kept.reth.dma_length - skipped) {
      return count(ConnectedCounter::kRxInvalidRequests);
    }
    answer.reth = reth;
    answer.packets = packets_of(reth.dma_length);
  }
  const auto same = [&](const Answer& other) {
    return other.psn == answer.psn && other.packets == answer.packets && other.next == 0;
  };
  // One that waits already, and of which nothing is on its way, will do for both.
  for (std::size_t i = in_flight_.out ? in_flight_.finished + 1 : 0; i < answers_.size(); ++i) {
    if (same(answers_[i])) return;
  }
  if (answers_.size() >= connection_.max_reads_in + kMostReplays) return;
  count(kept.atomic ? ConnectedCounter::kRxAtomicsReplayed : ConnectedCounter::kRxReadsReplayed);
  if (!kept.atomic && packet.psn == kept.psn && ++kept.replays >= kVanishes) doubt_path(answer);
  answers_.push(answer);
}

// The start of a read is asked for again and again: requests arrive, and what answers them does
// not.
void Responder::doubt_path(const Answer& answer) {
  const std::size_t first = wire::Bth::kSize + wire::Aeth::kSize +
                            std::min<std::size_t>(connection_.mtu, answer.reth.dma_length);
  if (extended() && first > kNarrowPacket) connection_.narrow = true;
}

void Responder::keep(const Answer& answer) {
  const Kept kept{.atomic = answer.atomic,
                  .psn = answer.psn,
                  .msn = answer.msn,
                  .packets = answer.packets,
                  .pd = answer.pd,
                  .reth = answer.reth,
                  .original = answer.original};
  assert(connection_.max_reads_in > 0);
  if (kept_.size() < connection_.max_reads_in) {
    // The limit may have been raised since the ring went round.
    std::rotate(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(oldest_kept_),
                kept_.end());
    oldest_kept_ = 0;
    kept_.push_back(kept);
  } else {
    kept_[oldest_kept_] = kept;
    oldest_kept_ = (oldest_kept_ + 1) % kept_.size();
  }
}

void Responder::end_run(Time now) {
  see(now);
  target_.release();
  if (failing_) return;
  if (gap_news_) ack_due_ = true;
  ack_now_ = ack_due_;
  reorder_.rest();
}

// At most one CNP in a while: the sender reacts to the fact, not to the number.
void Responder::congestion_experienced(Time now) {
  see(now);
  if (failing_ || !(reliable() || connection_.config.extensions)) return;
  if (last_cnp_ && now_ - *last_cnp_ < kCnpInterval) return;
  last_cnp_ = now_;
  cnp_due_ = true;
}

void Responder::receive_posted() {
  if (grants()) return granter_.posted(source_.size());
  if (!extended() || told_credits_ != 0 || failing_) return;
  ack_due_ = ack_now_ = true;
}

std::uint32_t Responder::take_events() {
  return std::exchange(events_, 0);
}

}  // namespace weft::hca
