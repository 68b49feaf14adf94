// SPDX-License-Identifier: Apache-2.0
#include "wan/port_mirror.h"

#include <utility>

namespace weft::wan {
namespace {

using link::PortPhysicalState;
using link::PortState;

constexpr auto number(PortState state) {
  return static_cast<std::uint8_t>(state);
}

}  // namespace

void PortMirror::set_polling(bool polling, Time now) {
  own_doing_ = true;
  port_.set_physical_state(polling ? PortPhysicalState::kPolling : PortPhysicalState::kDisabled,
                           now);
  own_doing_ = false;
  polling_since_ = now;
}

void PortMirror::unplug(Time now) {
  plugged_ = false;
  set_polling(false, now);
  state_ = kUnknown;
}

void PortMirror::plug(Time now) {
  plugged_ = true;
  following_ = asked_active_ = false;
  heard_state_ = kUnknown;
  downs_ = heard_downs_ = done_downs_ = 0;
  set_polling(true, now);
}

void PortMirror::hear(std::uint8_t state, std::uint8_t downs) {
  heard_state_ = state;
  heard_downs_ = downs;
}

void PortMirror::state_changed(PortState before, Time now) {
  if (port_.state() == PortState::kDown || port_.state() == PortState::kInitialize) {
    asked_active_ = false;
  }
  const bool fell = port_.state() < before && port_.state() <= PortState::kInitialize;
  if (fell) polling_since_ = now;
  if (fell && !own_doing_ && plugged_) ++downs_;
}

// What the fabric's port at this end is in, as far as its neighbour can see.
std::uint8_t PortMirror::look(Time now) const {
  if (following_) return kUnknown;
  switch (port_.state()) {
    case PortState::kDown:
      return now >= polling_since_ + kTraining ? number(PortState::kDown) : kUnknown;
    case PortState::kActive:
      return number(PortState::kActive);
    default:
      return number(port_.peer_armed() ? PortState::kArmed : PortState::kInitialize);
  }
}

void PortMirror::run(Time now) {
  if (!plugged_) return;
  const bool gone = heard_state_ == number(PortState::kDown);
  if (gone != following_) {
    following_ = gone;
    done_downs_ = heard_downs_;
    set_polling(!gone, now);
  }
  if (std::exchange(done_downs_, heard_downs_) != heard_downs_ &&
      port_.state() != PortState::kDown) {
    own_doing_ = true;
    port_.set_state(PortState::kDown, now);
    own_doing_ = false;
  }
  if (heard_state_ >= number(PortState::kArmed) && port_.state() == PortState::kInitialize) {
    port_.set_state(PortState::kArmed, now);
  }
  // Takes effect once the fabric's port here is armed too.
  if (port_.state() == PortState::kArmed && !std::exchange(asked_active_, true)) {
    port_.set_state(PortState::kActive, now);
  }
  state_ = look(now);
}

std::optional<Time> PortMirror::deadline() const {
  const bool waits =
      plugged_ && !following_ && port_.state() == PortState::kDown && state_ == kUnknown;
  return waits ? std::optional(polling_since_ + kTraining) : std::nullopt;
}

}  // namespace weft::wan
