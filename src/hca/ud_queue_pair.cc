// SPDX-License-Identifier: Apache-2.0
// The control half of a datagram queue pair: states, posting, flushing, multicast attachment.
#include "hca/ud_queue_pair.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>

namespace weft::hca {

UdQueuePair::UdQueuePair(const UdConfig& config, const MemoryTable& memory,
                         CompletionSink& send_completions, CompletionSink& receive_completions,
                         ReceiveSource* shared)
    : config_(config),
      memory_(memory),
      work_(config, memory, send_completions, receive_completions, shared) {
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
  if (auto checked = check_current_state(attributes, mask, state_); !checked) return checked;
  const std::size_t pkeys = config_.pkeys != nullptr ? config_.pkeys->size() : 1;
  if ((mask & kAttrPKeyIndex) != 0 && attributes.pkey_index >= pkeys) {
    return fail(std::errc::invalid_argument, fmt::format("modify: P_Key index {}: at most {}",
                                                         attributes.pkey_index, pkeys - 1));
  }
  return check_port(attributes, mask, config_.port);
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
      work_.flush_receives(now_);
      settle_sends();
      if (work_.shares_receives()) events_ |= kEventLastWqe;  // IBA 11.6.3.2
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
  work_.forget(data_is_out ? in_flight_.slots : 0);
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
  assert(data_is_out || work_.queued_bytes() == 0);
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
  const auto length = work_.length_of(request);
  if (!length) return std::errc::invalid_argument;
  if (request.path == nullptr || request.path->port != config_.port) {
    return std::errc::invalid_argument;
  }
  const bool has_immediate = request.opcode == SendOpcode::kSendWithImmediate;
  if (has_immediate && config_.framing == UdFraming::kBare) return std::errc::invalid_argument;
  if (work_.sends_full()) return std::errc::not_enough_memory;

  SendSlot slot;
  slot.wr_id = request.wr_id;
  slot.length = *length;
  slot.path = *request.path;
  slot.remote_qpn = request.remote_qpn;
  slot.remote_qkey = request.remote_qkey;
  slot.immediate = request.immediate;
  slot.opcode = request.opcode;
  slot.signaled = request.signaled || config_.signal_all;
  slot.solicited = request.solicited;
  work_.post(slot, request);
  settle_sends();
  return {};
}

std::errc UdQueuePair::post_receive(const ReceiveRequest& request) {
  if (state_ == QpState::kReset) return std::errc::invalid_argument;
  if (const auto error = work_.post_receive(request); error != std::errc{}) return error;
  if (state_ == QpState::kErr) {
    work_.flush_receives(now_);
    return {};
  }
  receives_posted();
  return {};
}

void UdQueuePair::receives_posted() {
  most_receives_ = std::max(most_receives_, work_.source().size());
  if (!hungry_.empty()) wake_hungry();
}

// What the state asks of a send queue of which nothing is out: SQE and ERR flush it, SQD tells that
// it is at rest. Called whenever either may have become true.
void UdQueuePair::settle_sends() {
  if (in_flight_.kind == InFlight::Kind::kData) return;
  if (state_ == QpState::kSqe || state_ == QpState::kErr) {
    work_.flush_sends(now_);
    one_by_one_ = 0;
  }
  if (state_ == QpState::kSqd && sqd_notify_) {
    sqd_notify_ = false;
    events_ |= kEventSqDrained;
  }
}

bool UdQueuePair::has_work() const {
  if (in_flight_.kind != InFlight::Kind::kNone) return false;
  return !credits_due_.empty() || (state_ == QpState::kRts && work_.sends() > 0);
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
