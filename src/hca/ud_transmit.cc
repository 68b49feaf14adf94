// SPDX-License-Identifier: Apache-2.0
// The sending half of a datagram queue pair.
#include <cassert>
#include <cstring>

#include "hca/ud_queue_pair.h"

namespace weft::hca {

bool UdQueuePair::next_burst(Burst& burst, Time now) {
  see(now);
  if (in_flight_.kind != InFlight::Kind::kNone) return false;  // `burst` may be the one that is out
  burst.clear();
  assert(work_.pins().size() == 0);
  return fill_credit(burst) || fill_data(burst);
}

bool UdQueuePair::fill_credit(Burst& burst) {
  while (!credits_due_.empty()) {
    std::swap(credits_due_.front(), credits_due_.back());
    const CreditDue due = credits_due_.back();
    credits_due_.pop_back();
    const std::size_t waiting = work_.source().size();
    most_receives_ = std::max(most_receives_, waiting);
    const auto credit = granter_.grant(due.flow, static_cast<std::uint32_t>(waiting),
                                       grant_budget(config_.socket_bytes), now_);
    if (!credit) continue;  // forgotten meanwhile
    const bool scarce = waiting < most_receives_ / 4 || credit->receives == 0;
    if (scarce) {
      remember_hungry(due);
      starving_ |= credit->receives == 0;
      work_.source().await_post();
      if (work_.source().size() > waiting) receives_posted();  // just before it was told to watch
    }
    if (!due.asked && credit->receives == 0) continue;  // as before
    credit->write(credit_payload_);

    burst.path = due.path;
    burst.destination = due.flow.qpn;
    OutPacket& packet = burst.open();
    const MutableBytes header(packet.header);
    wire::Bth{.opcode = wire::Opcode::weft_ud_credit,
              .migrated = true,
              .pkey = pkey(),
              .dest_qp = due.flow.qpn,
              .psn = Psn{}}
        .write(header);
    wire::Deth{.qkey = qkey_, .src_qp = config_.qpn}.write(header.subspan(wire::Bth::kSize));
    packet.header_length = wire::Bth::kSize + wire::Deth::kSize;
    burst.add_piece(packet, credit_payload_);
    burst.close(packet, trailer());
    in_flight_ = InFlight{.kind = InFlight::Kind::kCredit, .credit = due};
    return true;
  }
  return false;
}

void UdQueuePair::remember_hungry(const CreditDue& due) {
  const auto same = [&](const CreditDue& other) { return other.flow == due.flow; };
  if (std::any_of(hungry_.begin(), hungry_.end(), same)) return;
  if (hungry_.size() < kMaxCreditsDue) hungry_.push_back(due);
}

bool UdQueuePair::fill_data(Burst& burst) {
  stalled_until_.reset();
  if (state_ != QpState::kRts) return false;
  const std::size_t most = one_by_one_ > 0 ? 1 : Burst::kMaxPackets;
  std::size_t n = 0;
  while (n < most && n < work_.sends() && append(burst, n))
    ++n;
  assert(burst.size() == n);
  if (n == 0) {
    work_.pins().release();
    return false;
  }
  in_flight_.kind = InFlight::Kind::kData;
  in_flight_.slots = n;
  return true;
}

UdQueuePair::Shape UdQueuePair::shape(const SendSlot& slot) const {
  Shape shape;
  if (config_.framing == UdFraming::kBth) {
    const bool immediate = slot.opcode == SendOpcode::kSendWithImmediate;
    shape.header = static_cast<std::uint8_t>(wire::Bth::kSize + wire::Deth::kSize +
                                             (immediate ? sizeof slot.immediate : 0));
    shape.pad = wire::pad_count_for(slot.length);
  }
  shape.length = shape.header + slot.length + shape.pad;
  return shape;
}

// Adds the `n`th request to a burst that holds the n before it; false when it does not fit there,
// may not go now, or (the first) has just failed.
bool UdQueuePair::append(Burst& burst, std::size_t n) {
  const SendSlot& slot = work_.send(n);
  const bool first = n == 0;
  if (!first && (slot.remote_qpn != burst.destination || slot.path != burst.path)) return false;
  if (slot.length > config_.mtu) {
    if (first) fail_oldest(CompletionStatus::kLocalLengthError);
    return false;
  }
  const Shape shape = this->shape(slot);
  const auto cost = static_cast<std::uint32_t>(shape.length) + trailer();
  if (first) {
    if (!begin_run(burst, slot, cost + kPacketCost)) return false;
  } else {
    const OutPacket& model = burst.packets().front();
    if (shape.header != model.header_length || shape.pad != model.pad) return false;
    if (!burst.takes(shape.length, trailer()) || work_.pins().size() >= kMaxPinsPerBurst)
      return false;
    if (in_flight_.flow != nullptr && !in_flight_.flow->pacer.admits(cost)) return false;
  }
  OutPacket& packet = burst.open();
  packet.header_length = shape.header;
  packet.pad = shape.pad;
  if (!work_.add_pieces(burst, packet, n)) {
    if (first) fail_oldest(CompletionStatus::kLocalProtectionError);
    return false;
  }
  assert(packet.length() == shape.length);
  if (config_.framing == UdFraming::kBth) {
    write_header(packet, slot, number(slot, first ? cost + kPacketCost : cost));
  }
  burst.close(packet, trailer());
  return true;
}

// False when the flow has no credit.
bool UdQueuePair::begin_run(Burst& burst, const SendSlot& slot, std::uint32_t cost) {
  in_flight_ = InFlight{.unpaced_psn_before = unpaced_psn_};
  burst.path = slot.path;
  burst.destination = slot.remote_qpn;
  if (!rate_.admits(slot.path, now_)) {
    stalled_until_ = rate_.until();
    return false;
  }
  if (!paces(slot.remote_qpn)) return true;
  OutFlow& flow = out_flow({slot.path.dgid, slot.remote_qpn});
  const std::uint64_t stalls = flow.pacer.stalls();
  const std::uint32_t allowed = flow.pacer.allowance(cost, now_);
  if (allowed == 0) {
    counters_.add(UdCounter::kTxCreditStalls, flow.pacer.stalls() - stalls);
    stalled_until_ = flow.pacer.deadline();
    assert(stalled_until_);
    return false;
  }
  in_flight_.flow = &flow;
  in_flight_.before = flow.pacer.checkpoint();
  return true;
}

UdQueuePair::OutFlow& UdQueuePair::out_flow(const FlowKey& key) {
  if (OutFlow* const flow = flows_.touch(key)) return *flow;
  return flows_.insert(key, OutFlow{.pacer = CreditPacer(sq_psn_)});
}

CreditPacer::Stamp UdQueuePair::number(const SendSlot& slot, std::uint32_t cost) {
  if (in_flight_.flow == nullptr) {
    const Psn psn = unpaced_psn_;
    ++unpaced_psn_;
    return {.psn = psn};
  }
  in_flight_.flow->qkey = wire_qkey(slot);
  return in_flight_.flow->pacer.stamp(cost);
}

void UdQueuePair::write_header(OutPacket& packet, const SendSlot& slot,
                               CreditPacer::Stamp stamp) const {
  const bool immediate = slot.opcode == SendOpcode::kSendWithImmediate;
  const MutableBytes header(packet.header);
  wire::Bth{.opcode = immediate ? wire::Opcode::ud_send_only_imm : wire::Opcode::ud_send_only,
            .solicited = slot.solicited,
            .migrated = true,
            .pad_count = packet.pad,
            .pkey = pkey(),
            .dest_qp = slot.remote_qpn,
            .ack_request = stamp.ack_request,
            .psn = stamp.psn}
      .write(header);
  wire::Deth{.qkey = wire_qkey(slot), .src_qp = config_.qpn}.write(
      header.subspan(wire::Bth::kSize));
  if (immediate) {  // four bytes as the application has them in memory
    std::memcpy(packet.header.data() + wire::Bth::kSize + wire::Deth::kSize, &slot.immediate,
                sizeof slot.immediate);
  }
}

void UdQueuePair::sent(const Burst& burst, SendResult result, Time now) {
  see(now);
  assert(in_flight_.kind != InFlight::Kind::kNone);
  work_.pins().release();
  if (in_flight_.kind == InFlight::Kind::kData) {
    assert(burst.size() == in_flight_.slots);
    if (result.outcome == SendOutcome::kSent) rate_.sent(burst.path, burst.bytes(), now);
    data_sent(result);
  } else if (!in_flight_.abandoned) {
    if (result.outcome == SendOutcome::kSent) counters_.add(UdCounter::kTxCredits);
    if (result.outcome == SendOutcome::kRefused) counters_.add(UdCounter::kTxRefused);
    if (result.outcome == SendOutcome::kWouldBlock) {
      credit_due(in_flight_.credit);
    }
  }
  in_flight_ = InFlight{};
  settle_sends();
}

void UdQueuePair::data_sent(SendResult result) {
  const std::size_t count = in_flight_.slots;
  in_flight_.kind = InFlight::Kind::kNone;
  assert(count >= 1 && count <= work_.sends());
  if (in_flight_.abandoned) {
    for (std::size_t i = 0; i < count; ++i)
      work_.drop_oldest();
    return;
  }
  switch (result.outcome) {
    case SendOutcome::kSent: {
      const std::size_t before = work_.queued_bytes();
      finish_oldest(count);
      counters_.add(UdCounter::kTxPackets, count);
      counters_.add(UdCounter::kTxBytes, before - work_.queued_bytes());
      break;
    }
    case SendOutcome::kWouldBlock:
      take_back();
      break;
    case SendOutcome::kRefused:
      take_back();
      data_refused(result.reason);
      break;
  }
}

void UdQueuePair::data_refused(CompletionStatus reason) {
  const std::size_t count = in_flight_.slots;
  if (reason == CompletionStatus::kSuccess) {  // nobody promised that a datagram arrives
    counters_.add(UdCounter::kTxRefused, count);
    finish_oldest(count);
  } else if (count > 1) {  // which one is at fault shows when they go one by one
    one_by_one_ = count;
  } else {
    counters_.add(UdCounter::kTxRefused);
    fail_oldest(reason);
  }
}

void UdQueuePair::finish_oldest(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    work_.complete_oldest(CompletionStatus::kSuccess, now_);
  one_by_one_ -= std::min(one_by_one_, count);
}

// The oldest request fails: the queue stops and the rest is flushed (IBA 10.3.1.7).
void UdQueuePair::fail_oldest(CompletionStatus status) {
  assert(in_flight_.kind != InFlight::Kind::kData && status != CompletionStatus::kSuccess);
  work_.complete_oldest(status, now_);
  if (state_ != QpState::kErr) state_ = QpState::kSqe;
  settle_sends();
}

// What was numbered but not sent must not look like loss to the receiver.
void UdQueuePair::take_back() {
  unpaced_psn_ = in_flight_.unpaced_psn_before;
  if (in_flight_.flow != nullptr) in_flight_.flow->pacer.roll_back(in_flight_.before);
}

bool UdQueuePair::transmit(Time now, Burst& scratch, BurstSink& sink) {
  while (next_burst(scratch, now)) {
    const SendResult result = sink.send(scratch);
    sent(scratch, result, now);
    if (result.outcome == SendOutcome::kWouldBlock) return false;
  }
  return true;
}

}  // namespace weft::hca
