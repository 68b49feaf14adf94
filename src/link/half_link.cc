// SPDX-License-Identifier: Apache-2.0
#include "link/half_link.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "link/iba_values.h"

namespace weft::link {
namespace {

constexpr int kHalfLinkMostAtOnce = 256;  // packets: then other ports have their turn

}  // namespace

HalfLink::~HalfLink() {
  if (channel_ != nullptr) channel_->set_user(nullptr);
}

void HalfLink::join(Port& port, Time now, TrainingPort* training) {
  assert(port_ == nullptr && !port.connected());
  port_ = &port;
  training_ = training;
  port.set_drain_rate(emulation_.drain_bytes_per_s, now);
  port.connect(this, now);
}

void HalfLink::set_channel(Channel* channel, Time now) {
  if (channel_ != nullptr) {
    if (seeking_) channel_->seek(false, now);
    channel_->set_user(nullptr);
  }
  seeking_ = false;
  channel_ = channel;
  if (channel_ != nullptr) channel_->set_user(this);
  settle(now);
}

void HalfLink::set_plugged(bool plugged, Time now) {
  plugged_ = plugged;
  settle(now);
}

void HalfLink::set_polling(bool polling, Time now) {
  polling_ = polling;
  settle(now);
}

void HalfLink::settle(Time now) {
  if (channel_ == nullptr) return;
  const bool seek = plugged_ && !flapping_.out() && polling_;
  if (seek == seeking_) return;
  seeking_ = seek;
  channel_->seek(seek, now);
}

void HalfLink::set_emulation(const Emulation& emulation, Time now) {
  emulation_ = emulation;
  // One end pulls the cable, for both.
  flapping_.start(side_ == 0 ? emulation : Emulation{}, now);
  settle(now);
  if (port_ != nullptr) port_->set_drain_rate(emulation.drain_bytes_per_s, now);
  // What the old line held back goes its way, ahead of what the new one gets.
  if (line_) line_->release_held(outbox_, Time::max());
  const Time last = line_ ? std::max(line_->last_arrival(), now) : now;
  if (emulation.any() || last > now || !outbox_.empty()) {
    // The two directions draw from different numbers.
    Random random(emulation.seed);
    for (std::size_t i = 0; i < side_; ++i)
      static_cast<void>(random.fork());
    line_ = std::make_unique<Line>(emulation_, LineSymbols{}, random.fork(), pool_, counters_);
    line_->follow(last);
  } else {
    line_.reset();
  }
  busy_ = false;
  if (port_ != nullptr) port_->line_changed(now, now);
}

bool HalfLink::ready() const {
  return !busy_ && (channel_ == nullptr || channel_->ready());
}

void HalfLink::send(PacketPtr packet, Time now) {
  counters_.add_in_turn(LinkCounter::kPackets);
  if (!connected_) return counters_.add_in_turn(LinkCounter::kDown);
  if (tap_ != nullptr) tap_->sent(side_, *packet, now);
  if (!line_) return channel_->send(*packet, now);
  line_->send(std::move(packet), outbox_, now);
  pump(now);
  wake();  // the deadline may be another
}

void HalfLink::send(const wire::FlowControl& packet, Time now) {
  counters_.add_in_turn(LinkCounter::kFlowControl);
  if (!connected_) return;
  if (tap_ != nullptr) tap_->sent(side_, packet, now);
  if (!line_) return channel_->send_flow_control(packet.bytes(), now);
  line_->send(packet, outbox_, now);
  pump(now);
  wake();  // the deadline may be another
}

void HalfLink::pump(Time now) {
  if (line_) line_->release_held(outbox_, now);
  while (connected_ && channel_->ready()) {
    const auto next = outbox_.next();
    if (!next || *next > now) break;
    if (!outbox_.signal_is_next()) {
      channel_->send(*outbox_.pop_packet(), now);
      continue;
    }
    const Inbox::Signal signal = outbox_.pop_signal();
    Signal bytes = signal.packet.bytes();
    if (signal.wrong_bit != Inbox::Signal::kNoBit) {
      bytes[signal.wrong_bit / 8] ^= std::byte{1} << (signal.wrong_bit % 8);
    }
    channel_->send_flow_control(bytes, now);
  }
  busy_ = line_ && !line_->idle(now);
}

std::optional<CreditFormat> HalfLink::far_format() const {
  return channel_ != nullptr ? channel_->far_format() : std::nullopt;
}

Duration HalfLink::time_on_line(std::size_t bytes) const {
  return line_ ? line_->time_on_line(bytes) : 0ns;
}

Duration HalfLink::round_trip() const {
  const Duration beyond = channel_ != nullptr ? channel_->round_trip() : 0ns;
  if (!line_) return beyond;
  return beyond + 2 * (emulation_.delay + time_on_line(longest_packet(kLargestMtu)));
}

void HalfLink::tell_physical(Port& port, Time now) {
  if (std::exchange(lost_, false) && std::exchange(told_up_, false)) port.physical_down(now);
  // What the port does then may end the connection.
  if (!told_up_ && connected_) {
    told_up_ = true;
    if (training_ != nullptr) training_->heard_training(far_);
    port.physical_up(now);
  }
}

void HalfLink::deliver(Port& port, Time now) {
  if (flapping_.run(now)) settle(now);
  tell_physical(port, now);
  pump(now);
  for (int i = 0; i < kHalfLinkMostAtOnce && !arrivals_.empty() && !lost_; ++i) {
    auto item = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (auto* const packet = std::get_if<PacketPtr>(&item)) {
      if (tap_ != nullptr) tap_->sent(1 - side_, **packet, now);
      port.receive(std::move(*packet), now);
    } else {
      port.receive_flow_control(std::get<Signal>(item), now);
    }
  }
}

std::optional<Time> HalfLink::deadline() const {
  std::optional<Time> first;
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(flapping_.deadline());
  if (!arrivals_.empty()) earlier(came_at_);
  if (lost_ || connected_ != told_up_) earlier(came_at_);
  if (busy_) earlier(line_->free_at());
  if (line_) earlier(line_->held_until());
  // A channel that is not ready calls may_send().
  if (connected_ && channel_->ready()) earlier(outbox_.next());
  return first;
}

Training HalfLink::training() const {
  return training_ != nullptr ? training_->training() : Training{};
}

void HalfLink::connected(Time now) {
  connected_ = true;
  came_at_ = now;
  wake();
}

void HalfLink::disconnected(Time now) {
  connected_ = false;
  far_ = {};
  lost_ = true;
  came_at_ = now;
  std::size_t lost = outbox_.clear();
  if (line_) lost += line_->clear(now);
  busy_ = false;
  for (const auto& item : arrivals_)
    lost += std::holds_alternative<PacketPtr>(item) ? 1 : 0;
  arrivals_.clear();
  counters_.add_in_turn(LinkCounter::kDown, lost);
  wake();
}

void HalfLink::arrived(Bytes packet, Time now) {
  PacketPtr copy = pool_.copy(packet);
  if (copy == nullptr) return counters_.add_in_turn(LinkCounter::kNoMemory);
  arrivals_.emplace_back(std::move(copy));
  came_at_ = now;
  wake();
}

void HalfLink::arrived_flow_control(SignalBytes packet, Time now) {
  Signal signal;
  std::copy(packet.begin(), packet.end(), signal.begin());
  arrivals_.emplace_back(signal);
  came_at_ = now;
  wake();
}

void HalfLink::may_send(Time) {
  wake();
}

void HalfLink::wake() {
  if (port_ != nullptr) port_->wake();
}

}  // namespace weft::link
