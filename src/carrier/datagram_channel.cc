// SPDX-License-Identifier: Apache-2.0
#include "carrier/datagram_channel.h"

#include <algorithm>
#include <utility>

namespace weft::carrier {

DatagramChannel::DatagramChannel(std::uint64_t link, DatagramSink& sink, KeyTable& keys,
                                 Entropy& entropy, const DatagramTimes& times)
    : link_(link), sink_(sink), keys_(keys), entropy_(entropy), times_(times) {
}

DatagramChannel::~DatagramChannel() {
  if (session_) keys_.remove_key(session_->mine);
  drop_candidate();
}

void DatagramChannel::draw_candidate() {
  candidate_ = {};
  while (candidate_.mine == 0)
    candidate_.mine = entropy_.draw();
  keys_.add_key(candidate_.mine, *this);
}

void DatagramChannel::drop_candidate() {
  if (candidate_.mine != 0) keys_.remove_key(candidate_.mine);
  candidate_ = {};
}

void DatagramChannel::seek(bool seek, Time now) {
  if (seek == seeks_) return;
  seeks_ = seek;
  if (seek) {
    draw_candidate();
    hello_at_ = now;
    keys_.hurry(now);
    return;
  }
  if (session_) say(DatagramKind::kGoodbye);
  drop_candidate();
  end(now);
}

// The candidate's time has come.
void DatagramChannel::begin(const link::Training& far, Time now) {
  end(now);
  session_ = std::exchange(candidate_, {});
  draw_candidate();
  next_to_send_ = next_to_come_ = 0;
  come_ = 0;
  said_at_ = heard_at_ = ran_at_ = now;
  confirmed_ = false;
  round_trip_ = now - said_hello_at_;
  counters_.add_in_turn(DatagramCounter::kConnections);
  keys_.hurry(now + times_.heartbeat);
  if (user_ == nullptr) return;
  user_->heard_training(far);
  user_->connected(now);
}

void DatagramChannel::end(Time now) {
  if (!session_) return;
  keys_.remove_key(session_->mine);
  session_.reset();
  hello_at_ = now;
  keys_.hurry(now);
  if (user_ != nullptr) user_->disconnected(now);
}

// Of the connection that there is. Empty: there is no room.
MutableBytes DatagramChannel::next(DatagramKind kind, std::size_t contents,
                                   std::uint32_t sequence) {
  const MutableBytes out = sink_.next(DatagramHead::kSize + contents);
  if (out.empty()) {
    counters_.add_in_turn(DatagramCounter::kNoRoom);
    return {};
  }
  DatagramHead{.kind = kind, .key = session_->theirs, .sequence = sequence}.write(out);
  return out.subspan(DatagramHead::kSize);
}

void DatagramChannel::say(DatagramKind kind) {
  static_cast<void>(next(kind, 0, 0));
}

void DatagramChannel::say_hello(const Keys& keys, bool wants_answer, Time now) {
  const MutableBytes out = sink_.next(DatagramHead::kSize + Hello::kSize);
  if (out.empty()) return counters_.add_in_turn(DatagramCounter::kNoRoom);
  DatagramHead{.kind = DatagramKind::kHello, .key = keys.theirs}.write(out);
  Hello{.own_key = keys.mine,
        .link = link_,
        .wants_answer = wants_answer,
        .training = user_ != nullptr ? user_->training() : link::Training{}}
      .write(out.subspan(DatagramHead::kSize));
  said_hello_at_ = now;
  counters_.add_in_turn(DatagramCounter::kHellos);
}

// Only who knows a key of this end makes a connection or ends one; anybody may ask for a hello.
void DatagramChannel::hear_hello(const Datagram& datagram, Time now) {
  const std::uint64_t echo = datagram.head.key;
  const Hello& hello = datagram.hello;
  if (!seeks_) return counters_.add_in_turn(DatagramCounter::kUnsought);
  if (session_ && echo == session_->mine) {
    // It has not heard that it was heard.
    if (hello.own_key != session_->theirs) {
      return counters_.add_in_turn(DatagramCounter::kUnproven);
    }
    heard_at_ = now;
    if (hello.wants_answer) return say_hello(*session_, false, now);
    confirmed_ = true;
    return;
  }
  if (echo == candidate_.mine) {
    candidate_.theirs = hello.own_key;
    begin(hello.training, now);
    if (!session_) return;
    confirmed_ = !hello.wants_answer;
    if (!confirmed_) say_hello(*session_, false, now);
    return;
  }
  if (echo != 0) return counters_.add_in_turn(DatagramCounter::kUnproven);
  // What is late of the connection that there is.
  if (session_ && hello.own_key == session_->theirs) return;
  candidate_.theirs = hello.own_key;
  say_hello(candidate_, true, now);
}

void DatagramChannel::receive(const Datagram& datagram, Time now) {
  if (datagram.head.kind == DatagramKind::kHello) return hear_hello(datagram, now);
  if (!session_ || datagram.head.key != session_->mine) {
    return counters_.add_in_turn(DatagramCounter::kUnproven);
  }
  heard_at_ = now;
  confirmed_ = true;
  switch (datagram.head.kind) {
    case DatagramKind::kPacket:
    case DatagramKind::kFlowControl:
      return hear_packet(datagram, now);
    case DatagramKind::kGoodbye:
      return end(now);
    default:
      return;
  }
}

bool DatagramChannel::in_turn(std::uint32_t sequence) {
  constexpr std::uint32_t kHalf = std::uint32_t{1} << 31;
  const std::uint32_t ahead = sequence - next_to_come_;
  if (ahead >= kHalf) {
    const std::uint32_t back = next_to_come_ - sequence - 1;
    const bool twice = back < 64 && (come_ >> back & 1) != 0;
    if (back < 64) come_ |= std::uint64_t{1} << back;
    counters_.add_in_turn(twice ? DatagramCounter::kDuplicate : DatagramCounter::kLate);
    return false;
  }
  counters_.add_in_turn(DatagramCounter::kMissing, ahead);
  come_ = ahead >= 63 ? 0 : come_ << (ahead + 1);
  come_ |= 1;
  next_to_come_ = sequence + 1;
  return true;
}

void DatagramChannel::hear_packet(const Datagram& datagram, Time now) {
  if (!in_turn(datagram.head.sequence)) return;
  counters_.add_in_turn(DatagramCounter::kArrived);
  if (user_ == nullptr) return;
  if (datagram.head.kind == DatagramKind::kPacket) return user_->arrived(datagram.contents, now);
  user_->arrived_flow_control(datagram.contents.first<wire::FlowControl::kSize>(), now);
}

template <class Write>
void DatagramChannel::say_packet(DatagramKind kind, std::size_t size, Write write, Time now) {
  if (!session_) return counters_.add_in_turn(DatagramCounter::kUnconnected);
  const MutableBytes out = next(kind, size, next_to_send_);
  if (out.empty()) return;
  write(out);
  ++next_to_send_;
  said_at_ = now;
  counters_.add_in_turn(DatagramCounter::kSent);
}

void DatagramChannel::send(const link::Packet& packet, Time now) {
  say_packet(
      DatagramKind::kPacket, packet.size(), [&](MutableBytes out) { packet.copy_to(out); }, now);
}

void DatagramChannel::send_flow_control(link::SignalBytes packet, Time now) {
  say_packet(
      DatagramKind::kFlowControl, packet.size(),
      [&](MutableBytes out) { std::copy(packet.begin(), packet.end(), out.begin()); }, now);
}

void DatagramChannel::may_send(Time now) {
  if (session_ && user_ != nullptr) user_->may_send(now);
}

void DatagramChannel::run(Time now) {
  if (!seeks_) return;
  if (!session_) {
    if (now < hello_at_) return;
    say_hello(candidate_, true, now);
    hello_at_ = now + times_.hello;
    return;
  }
  // Who was not run itself, as a process may be that was stopped, cannot blame the other end.
  if (now - ran_at_ > 2 * times_.heartbeat) heard_at_ = now;
  ran_at_ = now;
  if (now >= heard_at_ + times_.silence) {
    counters_.add_in_turn(DatagramCounter::kSilences);
    say(DatagramKind::kGoodbye);
    return end(now);
  }
  // As long as it may not have heard the last hello, the other end cannot know of the connection.
  if (!confirmed_ && now >= said_hello_at_ + times_.hello) say_hello(*session_, false, now);
  if (now < said_at_ + times_.heartbeat) return;
  said_at_ = now;
  say(DatagramKind::kHeartbeat);
}

std::optional<Time> DatagramChannel::deadline() const {
  if (!seeks_) return std::nullopt;
  if (!session_) return hello_at_;
  const Time next = std::min(
      {said_at_ + times_.heartbeat, heard_at_ + times_.silence, ran_at_ + times_.heartbeat});
  return confirmed_ ? next : std::min(next, said_hello_at_ + times_.hello);
}

}  // namespace weft::carrier
