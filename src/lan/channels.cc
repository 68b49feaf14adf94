// SPDX-License-Identifier: Apache-2.0
#include "lan/channels.h"

namespace weft::lan {

Channels::Wanted Channels::want(PeerId peer, Time now) {
  Channel& channel = channels_[peer];
  if (channel.state != State::kNone) return {};
  if (channel.not_before && now < *channel.not_before) return {};
  Wanted wanted = make_room(now);
  if (!wanted.ask) {
    // Not with every frame: all channels are looked through for one that is idle.
    channel.not_before = now + options_.retry_after;
    return wanted;
  }
  set(peer, State::kAsked);
  channel.used = now;
  return wanted;
}

Channels::Wanted Channels::wanted_by_peer(PeerId peer, bool first, Time now) {
  Channel& channel = channels_[peer];
  if (channel.state == State::kAsked) return {.ask = !first};
  // The peer knows nothing of the one that is up here.
  if (channel.state == State::kUp) return {.ask = true};
  const Wanted wanted = make_room(now);
  if (wanted.ask) set(peer, State::kAsked);
  channel.used = now;
  return wanted;
}

Channels::Wanted Channels::make_room(Time now) {
  if (count_ < options_.most) return {.ask = true};
  const auto idle = longest_idle();
  if (!idle || now - channels_[*idle].used < options_.keep) return {.scarce = true};
  set(*idle, State::kNone);
  return {.ask = true, .give_up = idle};
}

bool Channels::up(PeerId peer, Time now) {
  if (channels_[peer].state == State::kNone) return false;
  set(peer, State::kUp);
  channels_[peer].used = channels_[peer].up_since = now;
  if (!look_at_) look_at_ = now + options_.idle;
  return true;
}

void Channels::refused(PeerId peer, Time now) {
  if (channels_[peer].state == State::kAsked) down(peer, now);
}

void Channels::down(PeerId peer, Time now) {
  set(peer, State::kNone);
  channels_[peer].not_before = now + options_.retry_after;
}

bool Channels::forget(PeerId peer) {
  const bool was = channels_[peer].state != State::kNone;
  set(peer, State::kNone);
  channels_[peer] = {};
  return was;
}

std::optional<PeerId> Channels::take_idle(Time now) {
  if (!look_at_ || now < *look_at_) return std::nullopt;
  const auto idle = longest_idle();
  look_at_.reset();
  if (!idle) return std::nullopt;
  look_at_ = channels_[*idle].used + options_.idle;
  if (now < *look_at_) return std::nullopt;
  set(*idle, State::kNone);
  return idle;
}

void Channels::set(PeerId peer, State state) {
  State& now = channels_[peer].state;
  if (now != State::kNone) --count_;
  now = state;
  if (now != State::kNone) ++count_;
}

// Of those that are up. One that is asked for becomes up or down.
std::optional<PeerId> Channels::longest_idle() const {
  std::optional<PeerId> found;
  if (count_ == 0) return found;
  for (std::size_t peer = 0; peer < channels_.size(); ++peer) {
    if (channels_[peer].state != State::kUp) continue;
    if (found && channels_[peer].used >= channels_[*found].used) continue;
    found = static_cast<PeerId>(peer);
  }
  return found;
}

}  // namespace weft::lan
