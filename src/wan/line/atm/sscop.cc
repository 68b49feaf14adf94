// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/sscop.h"

#include <algorithm>
#include <cassert>

namespace weft::wan::atm {
namespace {

// More than what one end may cause by sending as fast as it likes: then PDUs are lost, as they may.
constexpr std::size_t kMostOut = 512;

}  // namespace

Sscop::Sscop(const SscopOptions& options, SscopUser& user)
    : options_(options), user_(user), own_connection_(options.first_connection) {
  assert(options.window >= 1 && options.window <= kMostWindow);
}

std::uint32_t Sscop::ahead(std::uint32_t number, std::uint32_t of) const {
  return (number - of) & kSscopNumbers;
}

void Sscop::put(const SscopPdu& pdu) {
  if (out_.size() < kMostOut) out_.push_back(write_sscop(pdu));
}

Bytes Sscop::next_pdu() {
  if (out_.empty()) return {};
  leaving_ = std::move(out_.front());
  out_.pop_front();
  return leaving_;
}

void Sscop::put_begin() {
  put({.type = SscopType::kBegin, .most = options_.window, .connection = own_connection_});
}

void Sscop::establish(Time now) {
  if (state_ == SscopState::kOutgoing || state_ == SscopState::kReady) return;
  ++own_connection_;
  clear();
  state_ = SscopState::kOutgoing;
  controls_ = 1;
  control_at_ = now + options_.control;
  put_begin();
}

void Sscop::release(Time now) {
  if (state_ == SscopState::kIdle || state_ == SscopState::kEnding) return;
  clear();
  state_ = SscopState::kEnding;
  controls_ = 1;
  control_at_ = now + options_.control;
  put({.type = SscopType::kEnd});
}

void Sscop::clear() {
  sent_.clear();
  waiting_.clear();
  came_.clear();
  sent_from_ = may_send_to_ = poll_ = polled_ = next_ = highest_ = 0;
  unpolled_ = 0;
}

void Sscop::ready(Time now) {
  state_ = SscopState::kReady;
  poll_at_ = now + options_.keep_alive;
  give_up_at_ = now + options_.no_response;
  user_.established(now);
}

void Sscop::end_locally(Time now) {
  clear();
  state_ = SscopState::kIdle;
  user_.released(now);
}

void Sscop::fail(Time now) {
  counters_.add_in_turn(SscopCounter::kGivenUp);
  put({.type = SscopType::kEnd, .by_sscop = true});
  end_locally(now);
}

bool Sscop::send(Bytes message, Time now) {
  if (state_ != SscopState::kReady || message.size() > kMostMessage) return false;
  if (waiting_.size() == kMostWaiting) return false;
  if (under_way() == 0) poll_at_ = now + options_.poll;
  waiting_.emplace_back(message.begin(), message.end());
  push(now);
  return true;
}

// What is missing at the other end first, then what may go beyond that.
void Sscop::push(Time now) {
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    if (!sent_[i].again) continue;
    counters_.add_in_turn(SscopCounter::kSentAgain);
    put_data(sent_from_ + static_cast<std::uint32_t>(i), sent_[i], now);
  }
  while (!waiting_.empty()) {
    const auto number = (sent_from_ + static_cast<std::uint32_t>(sent_.size())) & kSscopNumbers;
    const std::uint32_t left = ahead(may_send_to_, number);
    if (left == 0 || left > kSscopNumbers / 2) break;
    sent_.push_back({.message = std::move(waiting_.front())});
    waiting_.pop_front();
    counters_.add_in_turn(SscopCounter::kSent);
    put_data(number, sent_.back(), now);
  }
}

void Sscop::put_data(std::uint32_t number, Sent& sent, Time now) {
  sent.again = false;
  sent.poll = poll_;
  put({.type = SscopType::kData, .number = number & kSscopNumbers, .message = sent.message});
  if (++unpolled_ >= options_.most_unpolled) put_poll(now);
}

void Sscop::put_poll(Time now) {
  poll_ = (poll_ + 1) & kSscopNumbers;
  unpolled_ = 0;
  put({.type = SscopType::kPoll,
       .number = (sent_from_ + static_cast<std::uint32_t>(sent_.size())) & kSscopNumbers,
       .poll = poll_});
  poll_at_ = now + (under_way() != 0 ? options_.poll : options_.keep_alive);
}

Time Sscop::next_deadline() const {
  switch (state_) {
    case SscopState::kIdle:
      break;
    case SscopState::kOutgoing:
    case SscopState::kEnding:
      return control_at_;
    case SscopState::kReady:
      return std::min(poll_at_, give_up_at_);
  }
  return Time::max();
}

void Sscop::advance(Time now) {
  if (now < next_deadline()) return;
  if (state_ == SscopState::kReady) {
    if (now >= give_up_at_) {
      fail(now);
    } else {
      put_poll(now);
    }
    return;
  }
  if (controls_++ >= options_.most_controls) {
    if (state_ == SscopState::kOutgoing) {
      fail(now);
    } else {
      end_locally(now);
    }
    return;
  }
  control_at_ = now + options_.control;
  if (state_ == SscopState::kOutgoing) {
    put_begin();
  } else {
    put({.type = SscopType::kEnd});
  }
}

void Sscop::receive(Bytes bytes, Time now) {
  const std::optional<SscopPdu> pdu = read_sscop(bytes);
  if (!pdu) {
    counters_.add_in_turn(SscopCounter::kMalformed);
    return;
  }
  switch (pdu->type) {
    case SscopType::kBegin:
    case SscopType::kResync:
    case SscopType::kRecovery:
      begin_received(*pdu, now);
      break;
    case SscopType::kData:
    case SscopType::kPoll:
    case SscopType::kStatus:
    case SscopType::kUnsolicited:
      transfer_received(*pdu, now);
      break;
    case SscopType::kUnnumbered:
    case SscopType::kManagement:
      counters_.add_in_turn(SscopCounter::kUnexpected);
      break;
    default:
      control_received(*pdu, now);
      break;
  }
}

// RS and ER begin anew what is there, BGN also what is not.
void Sscop::begin_received(const SscopPdu& pdu, Time now) {
  const bool begins = pdu.type == SscopType::kBegin;
  if (!begins && state_ != SscopState::kReady) {
    counters_.add_in_turn(SscopCounter::kUnexpected);
    return;
  }
  const SscopType answer = begins                           ? SscopType::kBeginAck
                           : pdu.type == SscopType::kResync ? SscopType::kResyncAck
                                                            : SscopType::kRecoveryAck;
  put({.type = answer, .most = options_.window});
  if (state_ == SscopState::kReady && other_connection_ == pdu.connection) return;  // repeated
  if (state_ == SscopState::kReady) user_.released(now);
  other_connection_ = pdu.connection;
  clear();
  may_send_to_ = pdu.most;
  ready(now);
}

void Sscop::control_received(const SscopPdu& pdu, Time now) {
  switch (pdu.type) {
    case SscopType::kEnd:
      put({.type = SscopType::kEndAck});
      if (state_ != SscopState::kIdle) end_locally(now);
      return;
    case SscopType::kEndAck:
      if (state_ == SscopState::kEnding) return end_locally(now);
      break;
    case SscopType::kBeginAck:
      if (state_ == SscopState::kOutgoing) {
        may_send_to_ = pdu.most;
        return ready(now);
      }
      if (state_ == SscopState::kReady) return;  // of a BGN that was repeated, or met another
      break;
    case SscopType::kBeginReject:
      if (state_ == SscopState::kOutgoing) return end_locally(now);
      break;
    default:
      break;
  }
  counters_.add_in_turn(SscopCounter::kUnexpected);
}

void Sscop::transfer_received(const SscopPdu& pdu, Time now) {
  if (state_ != SscopState::kReady) {
    counters_.add_in_turn(SscopCounter::kUnexpected);
    // The other end has a connection that is not there.
    if (state_ == SscopState::kIdle) put({.type = SscopType::kEnd, .by_sscop = true});
    return;
  }
  if (pdu.type == SscopType::kData) {
    data_received(pdu, now);
  } else if (pdu.type == SscopType::kPoll) {
    poll_received(pdu, now);
  } else {
    status_received(pdu, now);
  }
}

void Sscop::data_received(const SscopPdu& pdu, Time now) {
  const std::uint32_t at = ahead(pdu.number, next_);
  if (at >= options_.window) {
    counters_.add_in_turn(at > kSscopNumbers / 2 ? SscopCounter::kRepeated
                                                 : SscopCounter::kBeyondWindow);
    return;
  }
  if (came_.size() <= at) came_.resize(at + 1);
  if (came_[at]) {
    counters_.add_in_turn(SscopCounter::kRepeated);
    return;
  }
  came_[at].emplace(pdu.message.begin(), pdu.message.end());
  const std::uint32_t known = ahead(highest_, next_);
  if (at > known) {
    put({.type = SscopType::kUnsolicited,
         .number = next_,
         .most = (next_ + options_.window) & kSscopNumbers,
         .list = {highest_, pdu.number}});
  }
  if (at >= known) highest_ = (pdu.number + 1) & kSscopNumbers;
  while (!came_.empty() && came_.front()) {
    const Message message = std::move(*came_.front());
    came_.pop_front();
    next_ = (next_ + 1) & kSscopNumbers;
    counters_.add_in_turn(SscopCounter::kReceived);
    user_.message(message, now);
    if (state_ != SscopState::kReady) return;
  }
}

void Sscop::poll_received(const SscopPdu& pdu, Time now) {
  const std::uint32_t sent = ahead(pdu.number, next_);
  if (sent < ahead(highest_, next_) || sent > options_.window) {
    fail(now);
    return;
  }
  highest_ = pdu.number;
  put({.type = SscopType::kStatus,
       .number = next_,
       .most = (next_ + options_.window) & kSscopNumbers,
       .poll = pdu.poll,
       .list = missing()});
}

// The first of each gap and the first behind it, up to highest_.
std::vector<std::uint32_t> Sscop::missing() const {
  std::vector<std::uint32_t> list;
  const std::uint32_t known = ahead(highest_, next_);
  bool there = true;
  for (std::uint32_t at = 0; at < known; ++at) {
    const bool came = at < came_.size() && came_[at].has_value();
    if (came != there) list.push_back((next_ + at) & kSscopNumbers);
    there = came;
  }
  if (!list.empty()) list.push_back(highest_);
  return list;
}

void Sscop::status_received(const SscopPdu& pdu, Time now) {
  const bool solicited = pdu.type == SscopType::kStatus;
  if (solicited && ahead(pdu.poll, polled_) > ahead(poll_, polled_)) {
    fail(now);
    return;
  }
  if (!take_acknowledgement(pdu) || !mark_missing(pdu)) {
    fail(now);
    return;
  }
  if (solicited) {
    polled_ = pdu.poll;
    give_up_at_ = now + options_.no_response;
  }
  push(now);
  if (under_way() == 0 && poll_at_ < now + options_.keep_alive)
    poll_at_ = now + options_.keep_alive;
}

bool Sscop::take_acknowledgement(const SscopPdu& pdu) {
  const std::uint32_t acknowledged = ahead(pdu.number, sent_from_);
  if (acknowledged > sent_.size()) return false;
  sent_.erase(sent_.begin(), sent_.begin() + acknowledged);
  sent_from_ = pdu.number;
  // What it says of room never takes back what it said before.
  if (ahead(pdu.most, may_send_to_) < kSscopNumbers / 2) may_send_to_ = pdu.most;
  return true;
}

// What went before the POLL and has not come is sent again; of what went later nobody knows.
bool Sscop::mark_missing(const SscopPdu& pdu) {
  const bool solicited = pdu.type == SscopType::kStatus;
  std::uint32_t from = 0;
  for (std::size_t i = 0; i < pdu.list.size(); ++i) {
    const std::uint32_t at = ahead(pdu.list[i], sent_from_);
    if (at > sent_.size() || at < from) return false;
    for (std::uint32_t number = from; i % 2 != 0 && number < at; ++number) {
      Sent& sent = sent_[number];
      const bool before = ahead(pdu.poll, sent.poll) - 1 < kSscopNumbers / 2;
      if (!solicited || before) sent.again = true;
    }
    from = at;
  }
  return true;
}

}  // namespace weft::wan::atm
