// SPDX-License-Identifier: Apache-2.0
#include "link/direct_link.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "link/iba_values.h"

namespace weft::link {
namespace {

constexpr int kDirectLinkMostAtOnce = 256;  // packets: then other ports have their turn

}  // namespace

DirectLink::DirectLink(PacketPool& pool, Duration training) : pool_(pool), training_(training) {
  for (std::size_t side = 0; side < ends_.size(); ++side) {
    ends_[side].link_ = this;
    ends_[side].side_ = side;
  }
}

void DirectLink::join(Port& first, Port& second, Time now) {
  assert(&first != &second && !first.connected() && !second.connected());
  ends_[0].port_ = &first;
  ends_[1].port_ = &second;
  for (End& end : ends_)
    end.port_->set_drain_rate(emulation_.drain_bytes_per_s, now);
  first.connect(&ends_[0], now);
  second.connect(&ends_[1], now);
}

void DirectLink::set_plugged(bool plugged, Time now) {
  plugged_ = plugged;
  settle(now);
}

void DirectLink::set_emulation(const Emulation& emulation, Time now) {
  emulation_ = emulation;
  flapping_.start(emulation, now);
  for (End& end : ends_) {
    if (end.port_ != nullptr) end.port_->set_drain_rate(emulation.drain_bytes_per_s, now);
  }
  make_lines(now);
  settle(now);
}

void DirectLink::flap(Time now) {
  if (flapping_.run(now)) settle(now);
}

void DirectLink::make_lines(Time now) {
  Random random(emulation_.seed);
  for (End& end : ends_) {
    // What the old line held back goes its way.
    std::optional<Time> last = end.line_ ? std::optional(end.line_->last_arrival()) : std::nullopt;
    if (end.line_) end.line_->release_held(other(end).inbox_, Time::max());
    if (end.line_) last = std::max(*last, end.line_->last_arrival());
    LineSymbols symbols{.to = 1 - end.side_};
    if (trainer_ != nullptr && trainer_->has_errors(symbols.to)) symbols.trainer = trainer_;
    if (!emulation_.any() && symbols.trainer == nullptr && !(last && *last > now)) {
      end.line_.reset();
    } else {
      end.line_ = std::make_unique<Line>(emulation_, symbols, random.fork(), pool_, counters_);
      end.line_->follow(last.value_or(now));
    }
    end.busy_ = false;
  }
  for (End& end : ends_) {
    const Line* const incoming = other(end).line_.get();
    if (end.port_ == nullptr) continue;
    end.port_->line_changed(now, incoming != nullptr ? incoming->last_arrival() : now);
  }
}

void DirectLink::settle(Time now) {
  const bool joined = plugged_ && !flapping_.out() && ends_[0].polling_ && ends_[1].polling_;
  if (joined == joined_) return;
  joined_ = joined;
  if (trainer_ != nullptr) {
    joined ? trainer_->start(now) : trainer_->stop(now);
  } else if (joined) {
    up_at_ = now + training_;
  }
  if (!joined) go_down(now);
  for (End& end : ends_)
    end.port_->wake();
}

void DirectLink::go_down(Time now) {
  up_at_.reset();
  recovering_ = false;
  ++epoch_;
  lose_all(now);
}

void DirectLink::lose_all(Time now) {
  for (End& end : ends_) {
    std::size_t lost = end.inbox_.clear();
    if (end.line_) lost += end.line_->clear(now);
    end.busy_ = false;
    counters_.add_in_turn(LinkCounter::kDown, lost);
  }
}

void DirectLink::train(Time now) {
  if (trainer_ == nullptr || !joined_) return;
  trainer_->run(now);
  follow_trainer(now);
}

void DirectLink::follow_trainer(Time now) {
  const bool recovers = trainer_->recovering();
  const bool has_link = trainer_->up() || recovers;
  if (has_link == up_at_.has_value() && recovers == recovering_) return;
  if (!has_link) {
    go_down(now);
  } else if (recovers) {
    recovering_ = true;
    ++recoveries_;
    lose_all(now);
  } else {
    if (!up_at_) up_at_ = now;
    recovering_ = false;
    make_lines(now);  // with the errors that it has now
  }
  for (End& end : ends_)
    end.port_->wake();
}

void DirectLink::set_tap(LinkTap* tap) {
  tap_ = tap;
  if (trainer_ != nullptr) trainer_->set_tap(tap);
}

template <class P>
void DirectLink::carry(End& from, P packet, Time now) {
  constexpr bool kIsPacket = std::is_same_v<P, PacketPtr>;
  counters_.add_in_turn(kIsPacket ? LinkCounter::kPackets : LinkCounter::kFlowControl);
  End& to = other(from);
  if (!up(now)) {
    if (kIsPacket) counters_.add_in_turn(LinkCounter::kDown);
    return;
  }
  if constexpr (kIsPacket) {
    if (tap_ != nullptr) tap_->sent(from.side_, *packet, now);
    if (from.line_) {
      from.line_->send(std::move(packet), to.inbox_, now);
    } else {
      to.inbox_.push(std::move(packet), now);
    }
  } else {
    if (tap_ != nullptr) tap_->sent(from.side_, packet, now);
    if (from.line_) {
      from.line_->send(packet, to.inbox_, now);
    } else {
      to.inbox_.push(Inbox::Signal{.packet = packet}, now);
    }
  }
  from.busy_ = from.line_ && !from.line_->idle(now);
  to.port_->wake();
}

void DirectLink::End::set_polling(bool polling, Time now) {
  polling_ = polling;
  link_->settle(now);
}

void DirectLink::End::retrain(Time now) {
  LinkTrainer* const trainer = link_->trainer_;
  if (trainer == nullptr || !link_->up(now)) return;
  trainer->retrain(side_, now);
  link_->follow_trainer(now);
  tell_physical(*port_, now);  // which is busy with what made it ask, and is not woken for this
}

std::uint64_t DirectLink::End::symbol_errors(Time now) const {
  return link_->trainer_ != nullptr ? link_->trainer_->symbol_errors(side_, now) : 0;
}

Duration DirectLink::End::time_on_line(std::size_t bytes) const {
  return line_ ? line_->time_on_line(bytes) : 0ns;
}

Duration DirectLink::End::round_trip() const {
  if (!line_) return 0ns;
  return 2 * (link_->emulation_.delay + time_on_line(longest_packet(kLargestMtu)));
}

void DirectLink::End::tell_physical(Port& port, Time now) {
  if (!told()) {
    told_epoch_ = link_->epoch_;
    told_recovering_ = false;
    if (std::exchange(told_up_, false)) port.physical_down(now);
  }
  // A port that runs late is told of both, for what was on its way is lost.
  if (std::exchange(told_recoveries_, link_->recoveries_) != link_->recoveries_ && told_up_) {
    told_recovering_ = true;
    port.physical_recovers(now);
  }
  if (told_recovering_ && !link_->recovering_) {
    told_recovering_ = false;
    port.physical_recovered(now);
  }
  if (!told_up_ && told() && link_->up(now)) {
    told_up_ = true;
    port.physical_up(now);
  }
}

void DirectLink::End::deliver(Port& port, Time now) {
  link_->flap(now);
  link_->train(now);
  tell_physical(port, now);
  if (line_ && line_->idle(now)) busy_ = false;
  Line* const incoming = link_->other(*this).line_.get();
  if (incoming != nullptr) incoming->release_held(inbox_, now);
  for (int i = 0; i < kDirectLinkMostAtOnce; ++i) {
    // What is done with a packet may take the link down, and empties the inbox then.
    if (!inbox_.has_come(now) || !told()) return;
    if (!inbox_.signal_is_next()) {
      port.receive(inbox_.pop_packet(), now);
      continue;
    }
    const Inbox::Signal signal = inbox_.pop_signal();
    if (signal.wrong_bit == Inbox::Signal::kNoBit) {
      port.receive(signal.packet, now);
    } else {
      auto bytes = signal.packet.bytes();
      bytes[signal.wrong_bit / 8] ^= std::byte{1} << (signal.wrong_bit % 8);
      port.receive_flow_control(bytes, now);
    }
  }
}

std::optional<Time> DirectLink::End::deadline() const {
  const Line* const incoming = link_->ends_[1 - side_].line_.get();
  std::optional<Time> first = inbox_.next();
  const LinkTrainer* const trainer = link_->trainer_;
  if (told_up_ && !busy_ && incoming == nullptr && trainer == nullptr &&
      !link_->flapping_.deadline()) {
    return first;
  }
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  if (!told_up_) earlier(link_->up_at_);
  if (trainer != nullptr && link_->joined_) earlier(trainer->deadline());
  if (busy_) earlier(line_->free_at());
  earlier(link_->flapping_.deadline());
  if (incoming != nullptr) earlier(incoming->held_until());
  return first;
}

}  // namespace weft::link
