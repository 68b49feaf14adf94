// SPDX-License-Identifier: Apache-2.0
// The control half of a datagram queue pair: states, posting, flushing, multicast attachment.
#include "hca/ud_queue_pair.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <cstring>

namespace weft::hca {

UdQueuePair::UdQueuePair(const UdConfig& config, const MemoryTable& memory,
                         CompletionSink& send_completions, CompletionSink& receive_completions,
                         ReceiveSource* shared)
    : config_(config),
      memory_(memory),
      send_completions_(send_completions),
      receive_completions_(receive_completions),
      sends_(config.max_sends, config.max_send_pieces),
      inline_areas_(config.max_inline),
      own_receives_(config.max_receives, config.max_receive_pieces),
      source_(shared != nullptr ? *shared : own_receives_),
      pins_(memory) {
}

Expected<void> UdQueuePair::modify(const QpAttributes& attributes, std::uint32_t mask) {
  const QpState to = (mask & kAttrState) != 0 ? attributes.state : state_;
  if (auto checked = check_transition(QpType::kUd, state_, to, mask); !checked) return checked;
  if (auto checked = check_values(attributes, mask); !checked) return checked;
  if ((mask & kAttrPKeyIndex) != 0) pkey_index_ = attributes.pkey_index;
  if ((mask & kAttrPort) != 0) port_ = attributes.port;
  if ((mask & kAttrQKey) != 0) qkey_ = attributes.qkey;
  if ((mask & kAttrSqdNotify) != 0) sqd_notify_ = attributes.sqd_notify;
  if ((mask & kAttrSqPsn) != 0) unpaced_psn_ = sq_psn_ = attributes.sq_psn;
  if (to != state_ || to == QpState::kReset) enter(to);
  return {};
}

Expected<void> UdQueuePair::check_values(const QpAttributes& attributes, std::uint32_t mask) const {
  if ((mask & kAttrCurrentState) != 0 && attributes.current_state != state_) {
    return fail(std::errc::invalid_argument,
                fmt::format("modify: the queue pair is in {}, not in {}", to_string(state_),
                            to_string(attributes.current_state)));
  }
  const std::size_t pkeys = config_.pkeys != nullptr ? config_.pkeys->size() : 1;
  if ((mask & kAttrPKeyIndex) != 0 && attributes.pkey_index >= pkeys) {
    return fail(std::errc::invalid_argument, fmt::format("modify: P_Key index {}: at most {}",
                                                         attributes.pkey_index, pkeys - 1));
  }
  if ((mask & kAttrPort) != 0 && attributes.port != config_.port) {
    return fail(std::errc::invalid_argument,
                fmt::format("modify: port {}: the queue pair is on port {}", attributes.port,
                            config_.port));
  }
  return {};
}

void UdQueuePair::move_to(const HomePort& port) {
  config_.port = port.number;
  config_.pkeys = port.pkeys;
  config_.mtu = port.max_datagram;
}

void UdQueuePair::enter(QpState to) {
  state_ = to;
  stalled_until_.reset();
  switch (to) {
    case QpState::kReset:
      reset();
      break;
    case QpState::kErr:
      flush_receives();
      settle_sends();
      if (shares()) events_ |= kEventLastWqe;  // IBA 11.6.3.2
      break;
    case QpState::kSqd:
      settle_sends();
      break;
    default:
      break;
  }
}

// Silently forgets everything but the attachments and the counters (IBA 10.3.1.1). A burst that is
// out still refers to its slots: they stay until sent().
void UdQueuePair::reset() {
  const bool data_is_out = in_flight_.kind == InFlight::Kind::kData;
  while (sends_.size() > (data_is_out ? in_flight_.slots : 0)) {
    SendSlot& slot = sends_.at(sends_.size() - 1);
    if (slot.is_inline()) inline_areas_.give_back(slot.inline_area);
    queued_bytes_ -= slot.length;
    --queued_packets_;
    sends_.pop_newest();
  }
  while (!own_receives_.queue.empty())
    own_receives_.queue.pop_oldest();
  in_flight_.abandoned = in_flight_.kind != InFlight::Kind::kNone;
  in_flight_.flow = nullptr;
  flows_.clear();
  granter_.clear();
  credits_due_.clear();
  hungry_.clear();
  starving_ = false;
  most_receives_ = 0;
  one_by_one_ = 0;
  qkey_ = QKey{};
  sq_psn_ = unpaced_psn_ = Psn{};
  pkey_index_ = 0;
  port_ = 0;
  sqd_notify_ = false;
  events_ = 0;
  assert(data_is_out || (queued_bytes_ == 0 && queued_packets_ == 0));
}

QpAttributes UdQueuePair::query() const {
  return {.state = state_,
          .current_state = state_,
          .sqd_notify = sqd_notify_,
          .pkey_index = pkey_index_,
          .port = port_,
          .qkey = qkey_,
          .sq_psn = sq_psn_};
}

std::errc UdQueuePair::post_send(const SendRequest& request) {
  using enum QpState;
  if (state_ == kReset || state_ == kInit || state_ == kRtr) return std::errc::invalid_argument;
  if (request.pieces.size() > config_.max_send_pieces) return std::errc::invalid_argument;
  SendSlot slot{.wr_id = request.wr_id};
  for (const Sge& piece : request.pieces)
    slot.length += piece.length;
  if (request.inline_data && slot.length > config_.max_inline) return std::errc::invalid_argument;
  if (request.path == nullptr || request.path->port != config_.port) {
    return std::errc::invalid_argument;
  }
  const bool has_immediate = request.opcode == SendOpcode::kSendWithImmediate;
  if (has_immediate && config_.framing == UdFraming::kBare) return std::errc::invalid_argument;
  if (sends_.full()) return std::errc::not_enough_memory;

  slot.path = *request.path;
  slot.remote_qpn = request.remote_qpn;
  slot.remote_qkey = request.remote_qkey;
  slot.immediate = request.immediate;
  slot.opcode = request.opcode;
  slot.signaled = request.signaled || config_.signal_all;
  slot.solicited = request.solicited;
  if (request.inline_data && slot.length > 0) {
    slot.inline_area = inline_areas_.take();
    ByteSink area(inline_areas_.bytes(slot.inline_area));
    for (const Sge& piece : request.pieces) {
      // The address of inline data is one of this process, not of a region (IBA has no inline).
      const auto* const data = std::bit_cast<const std::byte*>(piece.address);
      const bool fits = area.put({data, piece.length});
      assert(fits);
      (void)fits;
    }
  }
  sends_.push(slot, request.inline_data ? std::span<const Sge>{} : request.pieces);
  queued_bytes_ += slot.length;
  ++queued_packets_;
  settle_sends();
  return {};
}

std::errc UdQueuePair::post_receive(const ReceiveRequest& request) {
  if (state_ == QpState::kReset || shares()) return std::errc::invalid_argument;
  if (request.pieces.size() > config_.max_receive_pieces) return std::errc::invalid_argument;
  ReceiveQueue& queue = own_receives_.queue;
  if (queue.full()) return std::errc::not_enough_memory;
  push_receive(queue, request);
  if (state_ == QpState::kErr) {
    flush_receives();
    return {};
  }
  receives_posted();
  return {};
}

void UdQueuePair::receives_posted() {
  most_receives_ = std::max(most_receives_, source_.size());
  if (!hungry_.empty()) wake_hungry();
}

void UdQueuePair::complete_send(const SendSlot& slot, CompletionStatus status) {
  if (status == CompletionStatus::kSuccess && !slot.signaled) return;
  send_completions_.complete({.wr_id = slot.wr_id,
                              .status = status,
                              .opcode = CompletionOpcode::kSend,
                              .qpn = config_.qpn,
                              .at = now_});
}

void UdQueuePair::retire_oldest_send() {
  const SendSlot& slot = sends_.at(0);
  assert(queued_packets_ > 0 && queued_bytes_ >= slot.length);
  if (slot.is_inline()) inline_areas_.give_back(slot.inline_area);
  queued_bytes_ -= slot.length;
  --queued_packets_;
  sends_.pop_oldest();
}

void UdQueuePair::flush_sends() {
  assert(in_flight_.kind != InFlight::Kind::kData);
  while (!sends_.empty()) {
    complete_send(sends_.at(0), CompletionStatus::kFlushed);
    retire_oldest_send();
  }
  one_by_one_ = 0;
}

void UdQueuePair::flush_receives() {
  ReceiveQueue& queue = own_receives_.queue;
  while (!queue.empty()) {
    const std::uint64_t wr_id = queue.at(0).wr_id;
    queue.pop_oldest();
    receive_completions_.complete({.wr_id = wr_id,
                                   .status = CompletionStatus::kFlushed,
                                   .opcode = CompletionOpcode::kReceive,
                                   .qpn = config_.qpn,
                                   .at = now_});
  }
}

// What the state asks of a send queue of which nothing is out: SQE and ERR flush it, SQD tells that
// it is at rest. Called whenever either may have become true.
void UdQueuePair::settle_sends() {
  if (in_flight_.kind == InFlight::Kind::kData) return;
  if (state_ == QpState::kSqe || state_ == QpState::kErr) flush_sends();
  if (state_ == QpState::kSqd && sqd_notify_) {
    sqd_notify_ = false;
    events_ |= kEventSqDrained;
  }
}

bool UdQueuePair::has_work() const {
  if (in_flight_.kind != InFlight::Kind::kNone) return false;
  return !credits_due_.empty() || (state_ == QpState::kRts && !sends_.empty());
}

std::optional<Time> UdQueuePair::deadline() const {
  return stalled_until_;
}

Expected<void> UdQueuePair::attach(const Gid& group) {
  if (!group.is_multicast()) {
    return fail(std::errc::invalid_argument,
                fmt::format("attach {}: not a multicast address", group.to_string()));
  }
  if (!attached(group)) groups_.push_back(group);
  return {};
}

Expected<void> UdQueuePair::detach(const Gid& group) {
  const auto found = std::find(groups_.begin(), groups_.end(), group);
  if (found == groups_.end()) {
    return fail(std::errc::invalid_argument,
                fmt::format("detach {}: the queue pair is not attached", group.to_string()));
  }
  groups_.erase(found);
  return {};
}

bool UdQueuePair::attached(const Gid& group) const {
  return std::find(groups_.begin(), groups_.end(), group) != groups_.end();
}

}  // namespace weft::hca
