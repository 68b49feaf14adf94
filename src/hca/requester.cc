// SPDX-License-Identifier: Apache-2.0
// The send queue: posting, completing, flushing.
#include "hca/requester.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weft::hca {
namespace {

CompletionOpcode completion_opcode(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::kRdmaWrite:
    case SendOpcode::kRdmaWriteWithImmediate:
      return CompletionOpcode::kRdmaWrite;
    case SendOpcode::kRdmaRead:
      return CompletionOpcode::kRdmaRead;
    case SendOpcode::kCompareSwap:
      return CompletionOpcode::kCompareSwap;
    case SendOpcode::kFetchAdd:
      return CompletionOpcode::kFetchAdd;
    case SendOpcode::kLocalInvalidate:
      return CompletionOpcode::kLocalInvalidate;
    case SendOpcode::kBindWindow:
      return CompletionOpcode::kBindWindow;
    default:
      return CompletionOpcode::kSend;
  }
}

}  // namespace

Requester::Requester(Connection& connection, MemoryTable& memory, CompletionSink& completions)
    : connection_(connection),
      memory_(memory),
      completions_(completions),
      requests_(connection.config.max_sends, connection.config.max_send_pieces),
      areas_(connection.config.max_inline),
      pins_(memory),
      target_(memory) {
}

void Requester::start(Psn first) {
  assert(requests_.empty() && records_.empty());
  first_psn_ = first;
  // BTH to ICRC of a full packet; what the first one of a write has more does not matter here.
  congestion_.start(connection_.mtu + 16, connection_.config.lossless);
  running_ = true;
  selective_ = connection_.config.extensions && reliable();
  paced_ = connection_.config.extensions && !reliable();
  pacer_ = CreditPacer(first);
  failed_ = flushed_ = false;
}

void Requester::reset() {
  while (!requests_.empty())
    retire_oldest();
  forget();
  next_serial_ = acked_end_ = 0;
  newest_order_ = order_;
  first_psn_ = Psn{};
  granted_ = kWindowUngranted;
  ssn_ = 1;
  limit_.reset();
  running_ = hold_ = flushed_ = failed_ = false;
}

// What is outstanding is no more.
void Requester::forget() {
  target_.release();
  records_.clear();
  fetches_.clear();
  in_flight_ = span_cost_ = fetch_cost_ = 0;
  lost_count_ = 0;
  lost_from_ = 0;
  acked_end_ = next_serial_;
  next_request_ = first_request_;
  next_offset_ = 0;
  queued_bytes_ = queued_packets_ = 0;
  since_ask_ = 0;
  last_asked_ = true;
  one_by_one_ = 0;
  rnr_until_.reset();
  rnr_retries_ = retries_ = probes_ = 0;
  loss_at_.reset();
  doom_.reset();
  stalled_ = window_stalled_ = question_ = more_expected_ = false;
  paced_until_.reset();
  trial_.reset();
  next_trial_ = {};
  trial_pause_ = kFirstTrial;
  out_.abandoned = out_.active;
}

void Requester::flush() {
  flushed_ = true;
  while (!requests_.empty())
    complete_oldest(CompletionStatus::kFlushed);
  forget();
}

void Requester::resume() {
  flushed_ = failed_ = false;
}

std::errc Requester::check(const SendRequest& request) const {
  const ConnectedConfig& config = connection_.config;
  if (config.type == QpType::kXrcTarget) return std::errc::invalid_argument;
  if (!reliable() && (fetches(request.opcode) || is_local(request.opcode) ||
                      request.opcode == SendOpcode::kSendWithInvalidate)) {
    return std::errc::invalid_argument;  // UC has none of these (IBA table 38)
  }
  if (request.pieces.size() > config.max_send_pieces) return std::errc::invalid_argument;
  if (request.inline_data) {
    if (fetches(request.opcode) || is_local(request.opcode)) return std::errc::invalid_argument;
    std::uint64_t length = 0;
    for (const Sge& piece : request.pieces)
      length += piece.length;
    if (length > config.max_inline) return std::errc::invalid_argument;
  }
  if (requests_.full()) return std::errc::not_enough_memory;
  return {};
}

std::errc Requester::post(const SendRequest& request) {
  if (const std::errc error = check(request); error != std::errc{}) return error;
  // Behind what the window has no room for, or the peer no receive request, it goes no sooner.
  const bool behind_others = reliable() && unsent();
  Slot& slot = requests_.push(
      request.inline_data || is_local(request.opcode) ? std::span<const Sge>{} : request.pieces);
  describe(slot, request);
  if (request.inline_data && slot.length > 0) keep_inline(slot, request);
  if (flushed_) {
    complete_oldest(CompletionStatus::kFlushed);
    next_request_ = first_request_;
    return {};
  }
  report_ends_ = slot.signaled ? unreported_ : 0;
  unreported_ = slot.signaled ? 0 : unreported_ + 1;
  const bool data = !fetches(slot.opcode) && !is_local(slot.opcode);
  const std::uint64_t mtu = connection_.mtu;
  queued_bytes_ += data ? slot.length : 0;
  queued_packets_ += data && slot.length > mtu ? (slot.length + mtu - 1) / mtu : 1;
  if (!behind_others) stalled_ = false;
  return {};
}

// All of it but the pieces: the slot is as an earlier request has left it.
void Requester::describe(Slot& slot, const SendRequest& request) const {
  slot.wr_id = request.wr_id;
  slot.length = 0;
  for (const Sge& piece : request.pieces)
    slot.length += piece.length;
  slot.remote_address = request.remote_address;
  slot.compare_add = request.compare_add;
  slot.swap = request.swap;
  slot.end = 0;
  if (request.opcode == SendOpcode::kBindWindow) slot.bind = request.bind;
  slot.rkey = request.rkey;
  slot.invalidate = request.invalidate;
  slot.remote_srq = request.remote_srq;
  slot.immediate = request.immediate;
  slot.inline_area = SendSlot::kNoInline;
  slot.opcode = request.opcode;
  slot.signaled = request.signaled || connection_.config.signal_all;
  slot.solicited = request.solicited;
  slot.fence = request.fence;
  slot.finished = false;
}

void Requester::keep_inline(Slot& slot, const SendRequest& request) {
  slot.inline_area = areas_.take();
  ByteSink area(areas_.bytes(slot.inline_area));
  for (const Sge& piece : request.pieces) {
    // The address of inline data is one of this process, not of a region (IBA has no inline).
    const auto* const data = std::bit_cast<const std::byte*>(piece.address);
    const bool fits = area.put({data, piece.length});
    assert(fits);
    (void)fits;
  }
}

void Requester::complete_oldest(CompletionStatus status) {
  const Slot& slot = requests_.at(0);
  if (status != CompletionStatus::kSuccess || slot.signaled) {
    std::uint32_t length = 0;
    if (slot.opcode == SendOpcode::kRdmaRead) length = static_cast<std::uint32_t>(slot.length);
    if (slot.opcode == SendOpcode::kCompareSwap || slot.opcode == SendOpcode::kFetchAdd) length = 8;
    completions_.complete({.wr_id = slot.wr_id,
                           .status = status,
                           .opcode = completion_opcode(slot.opcode),
                           .byte_length = status == CompletionStatus::kSuccess ? length : 0,
                           .qpn = connection_.config.qpn,
                           .at = now_});
  }
  retire_oldest();
}

void Requester::retire_oldest() {
  const Slot& slot = requests_.at(0);
  if (slot.is_inline()) {
    // A burst that is out may refer to it.
    if (out_.active) {
      out_.areas.push_back(slot.inline_area);
    } else {
      areas_.give_back(slot.inline_area);
    }
  }
  requests_.pop_oldest();
  ++first_request_;
}

void Requester::complete_finished() {
  while (!requests_.empty()) {
    const Slot& slot = requests_.at(0);
    if (!slot.finished || slot.end > oldest()) return;
    assert(next_request_ > first_request_);
    complete_oldest(CompletionStatus::kSuccess);
  }
}

// `request` cannot be carried out. It fails when those before it are complete (IBA 9.9.1).
void Requester::doom(std::uint64_t request, CompletionStatus status) {
  if (!doom_ || request < doom_->request) doom_ = Doom{request, status};
}

// Completes what may be completed. Call after anything that may have changed that.
void Requester::settle() {
  if (failed_) return;
  complete_finished();
  if (!doom_ || doom_->request != first_request_ || requests_.empty()) return;
  complete_oldest(doom_->status);
  failed_ = true;
}

void Requester::hold(bool hold) {
  hold_ = hold;
  stalled_ = false;
}

void Requester::expect_more(bool more) {
  if (more == more_expected_) return;
  more_expected_ = more;
  if (!more) stalled_ = false;
}

void Requester::wait_turn(bool wait) {
  if (wait == waits_turn_) return;
  waits_turn_ = wait;
  stalled_ = false;
}

bool Requester::idle() const {
  return records_.empty() && !out_.active && next_offset_ == 0;
}

void Requester::congested(Time now) {
  see(now);
  congestion_.congested(now);
}

}  // namespace weft::hca
