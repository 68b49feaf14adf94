// SPDX-License-Identifier: Apache-2.0
#include "wan/fibre_end.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "link/iba_values.h"

namespace weft::wan {

using link::PortPhysicalState;
using link::PortState;

link::PortOptions fibre_port(std::uint64_t lane_bytes, std::uint8_t data_vls) {
  assert(lane_bytes <= kMostFibreBytes);
  const std::uint64_t blocks = lane_bytes / link::Packet::kBlock;
  link::CreditFormat format{.scale = 0, .wide = blocks > link::kMostCredit};
  while (blocks >> format.scale > format.most())
    ++format.scale;
  return {.data_vls = data_vls,
          .vl_buffer = static_cast<std::uint32_t>(blocks),
          .credit_format = format};
}

FibreEnd::FibreEnd(const FibreOptions& options, FibreUser& user)
    : user_(user), egress_(options.egress), near_(options.near, *this), far_(options.far, *this) {
}

void FibreEnd::start(Time now) {
  go(Cable::kLooking, now);
  wake();
}

void FibreEnd::stop(Time now) {
  go(Cable::kOut, now);
  wake();
}

void FibreEnd::received(link::Port& port, link::PacketPtr packet, Time now) {
  const Vl vl = packet->vl();
  if (&port == &far_) return near_.transmit(std::move(packet), vl, now);
  far_.transmit(std::move(packet), vl == link::kVl15 ? vl : egress_[vl.value()], now);
}

void FibreEnd::state_changed(link::Port& port, PortState before, Time) {
  const bool fell = port.state() < before && port.state() <= PortState::kInitialize;
  if (fell && !own_doing_) fell_ = true;
}

void FibreEnd::wake(link::Port& port) {
  (&port == &near_ ? near_woken_ : far_woken_) = true;
  wake();
}

void FibreEnd::wake() {
  if (!std::exchange(woken_, true)) user_.wake(*this);
}

void FibreEnd::go(Cable cable, Time now) {
  const bool near = cable == Cable::kJoining || cable == Cable::kJoined ||
                    cable == Cable::kDetached || cable == Cable::kReturning;
  const bool far = cable != Cable::kOut && cable != Cable::kDetached;
  const auto seek = [&](link::Port& port, bool seeks) {
    const bool is_seeking = port.physical_state() != PortPhysicalState::kDisabled;
    if (seeks == is_seeking) return;
    port.set_physical_state(seeks ? PortPhysicalState::kPolling : PortPhysicalState::kDisabled,
                            now);
  };
  own_doing_ = true;
  // Whoever is on the other side of a port that fell is to see that too.
  if (fell_ && cable == Cable::kLooking) far_.set_state(PortState::kDown, now);
  seek(near_, near);
  seek(far_, far);
  own_doing_ = fell_ = false;
  cable_ = cable;
  since_ = now;
}

// The state of the port is that of the fabric port at the other side, as far as its neighbour can
// see (IBA 7.2.7).
void FibreEnd::arm(const link::Port& seen, link::Port& port, Time now) {
  if (!seen.peer_armed() || port.state() != PortState::kInitialize) return;
  port.set_state(PortState::kArmed, now);
  port.set_state(PortState::kActive, now);  // once its own neighbour is armed as well
}

void FibreEnd::follow(Time now) {
  const auto up = [](const link::Port& port) {
    return port.physical_state() == PortPhysicalState::kLinkUp;
  };
  const bool late = now >= since_ + kPatience;
  switch (cable_) {
    case Cable::kOut:
      return;
    case Cable::kLooking:
      fell_ = false;
      if (up(far_)) go(Cable::kJoining, now);
      return;
    case Cable::kJoining:
      if (!up(far_)) return go(Cable::kLooking, now);
      if (up(near_)) return go(Cable::kJoined, now);
      if (late) go(Cable::kDetached, now);
      return;
    case Cable::kJoined:
      if (fell_ || !up(far_) || !up(near_)) return go(Cable::kLooking, now);
      arm(near_, far_, now);
      arm(far_, near_, now);
      return;
    case Cable::kDetached:
      if (up(near_)) go(Cable::kReturning, now);
      return;
    case Cable::kReturning:
      if (!up(near_)) return go(Cable::kDetached, now);
      if (up(far_)) return go(Cable::kJoined, now);
      if (late) go(Cable::kLooking, now);
      return;
  }
}

void FibreEnd::run(Time now) {
  woken_ = true;
  near_woken_ = false;
  near_.run(now);
  far_woken_ = false;
  far_.run(now);
  follow(now);
  woken_ = false;
  if (near_woken_ || far_woken_) wake();
}

std::optional<Time> FibreEnd::deadline() const {
  std::optional<Time> first = near_.deadline();
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(far_.deadline());
  if (cable_ == Cable::kJoining || cable_ == Cable::kReturning) earlier(since_ + kPatience);
  return first;
}

}  // namespace weft::wan
