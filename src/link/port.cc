// SPDX-License-Identifier: Apache-2.0
#include "link/port.h"

#include <algorithm>
#include <cassert>

#include "link/iba_values.h"

namespace weft::link {

Port::Port(const PortOptions& options, PortOwner& owner)
    : options_(options),
      owner_(owner),
      operational_vls_(options.data_vls),
      neighbor_mtu_(options.mtu_code),
      integrity_(kUsualLocalPhyErrors),
      buffer_(ReceiveBuffer::make(options.vl_buffer, options.vl15_buffer, *this)) {
  assert(options.data_vls >= 1 && options.data_vls < kVls);
  assert(options.mtu_code >= 1 && options.mtu_code <= 5);
  const CreditFormat format = options.credit_format.value_or(CreditFormat{});
  assert(format.scale <= CreditFormat::kMostScale);
  assert(options.vl_buffer >= format.space(longest_packet(options.mtu_code)));
}

Port::~Port() {
  buffer_.reset();  // what waits in the lanes may have come in here
}

void Port::connect(Carrier* carrier, Time now) {
  if (carrier_ != nullptr) {
    carrier_->set_polling(false, now);
    physical_down(now);
    symbol_errors_before_ += carrier_->symbol_errors(now);
  }
  carrier_ = carrier;
  if (carrier_ != nullptr && physical_ == PortPhysicalState::kPolling) {
    carrier_->set_polling(true, now);
  }
}

void Port::physical_up(Time now) {
  if (physical_ != PortPhysicalState::kPolling) return;
  physical_ = PortPhysicalState::kLinkUp;
  counters_.add_in_turn(PortCounter::kLinkUps);
  agree_on_credit();
  enter(PortState::kInitialize, now);
}

void Port::physical_down(Time now) {
  if (physical_ != PortPhysicalState::kLinkUp && !recovers()) return;
  physical_ = PortPhysicalState::kPolling;
  counters_.add_in_turn(PortCounter::kLinkDowned);
  enter(PortState::kDown, now);
}

void Port::physical_recovers(Time now) {
  if (physical_ != PortPhysicalState::kLinkUp) return;
  physical_ = PortPhysicalState::kLinkErrorRecovery;
  note_waiting(now);
}

// What was on its way is lost, and what either end said of credit with it.
void Port::physical_recovered(Time now) {
  if (!recovers()) return;
  physical_ = PortPhysicalState::kLinkUp;
  counters_.add_in_turn(PortCounter::kLinkErrorRecoveries);
  watch_from(now);
  tell_all_credit(now);
  wake();
}

// IBA 7.2.7, the link state machine.
void Port::enter(PortState state, Time now) {
  const PortState before = state_;
  state_ = state;
  if (state <= PortState::kInitialize) {
    peer_armed_ = active_wanted_ = false;
    for (std::uint8_t vl = 0; vl < kVl15.value(); ++vl)
      drop_lane(Vl{vl}, PortCounter::kTxLinkLost, now);
  }
  if (state == PortState::kDown) drop_lane(kVl15, PortCounter::kTxLinkLost, now);
  if (state == PortState::kInitialize) begin_credit(now);
  if (state == PortState::kInitialize || state == PortState::kArmed) tell_all_credit(now);
  if (state == PortState::kArmed) watch_from(now);
  if (state == PortState::kActive) active_wanted_ = false;
  note_waiting(now);
  wake();  // the deadline may be another
  if (before != state) owner_.state_changed(*this, before, now);
}

bool Port::set_state(PortState state, Time now) {
  switch (state) {
    case PortState::kDown:
      if (state_ != PortState::kDown) train_anew(link_down_default_, now);
      return true;
    case PortState::kArmed:
      if (state_ == PortState::kInitialize) enter(PortState::kArmed, now);
      return state_ == PortState::kArmed;
    case PortState::kActive:
      if (state_ == PortState::kArmed) {
        active_wanted_ = true;
        become_active(now);
        wake();
        return true;
      }
      return state_ == PortState::kActive;
    default:
      return false;
  }
}

// ActiveEnable of IBA 7.2.7: not before the other end can take data packets.
void Port::become_active(Time now) {
  if (state_ == PortState::kArmed && active_wanted_ && peer_armed_) enter(PortState::kActive, now);
}

void Port::set_physical_state(PortPhysicalState state, Time now) {
  assert(state == PortPhysicalState::kPolling || state == PortPhysicalState::kSleep ||
         state == PortPhysicalState::kDisabled);
  if (state == physical_) return;
  train_anew(state, now);
}

// Out of whatever physical state it is in, so that the other end sees the link go down too.
void Port::train_anew(PortPhysicalState state, Time now) {
  physical_ = state;
  if (carrier_ != nullptr) carrier_->set_polling(false, now);
  if (state_ != PortState::kDown) enter(PortState::kDown, now);
  if (carrier_ != nullptr && physical_ == PortPhysicalState::kPolling) {
    carrier_->set_polling(true, now);
  }
}

void Port::set_operational_vls(std::uint8_t data_vls, Time now) {
  const std::uint8_t wanted = std::clamp<std::uint8_t>(data_vls, 1, options_.data_vls);
  if (wanted == operational_vls_) return;
  operational_vls_ = wanted;
  owed_ &= static_cast<std::uint16_t>((1U << wanted) - 1);
  watch_from(now);
  for (std::uint8_t vl = wanted; vl < options_.data_vls; ++vl)
    drop_lane(Vl{vl}, PortCounter::kTxNoVl, now);
  if (state_ != PortState::kDown) tell_all_credit(now);
}

void Port::wake() {
  if (woken_) return;
  woken_ = true;
  owner_.wake(*this);
}

void Port::run(Time now) {
  woken_ = true;  // what happens in here is dealt with in here
  if (!draining_.empty()) drain(now);
  if (carrier_ != nullptr) {
    carrier_->deliver(*this, now);
    if (!is_at_rest()) {
      send_waiting(now);
      keep_credit_alive(now);
    }
    if (owed_ != 0) tell_owed_credit(now);  // last: everything before may have freed space
  }
  woken_ = false;
}

std::optional<Time> Port::deadline() const {
  std::optional<Time> first;
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  if (!draining_.empty()) earlier(drained_at_);
  if (carrier_ == nullptr) return first;
  earlier(carrier_->deadline());
  if (is_at_rest()) return first;
  for (std::uint16_t rest = waiting_ & kDataLanes; rest != 0; rest &= rest - 1)
    earlier(head_limit(lanes_[lowest_lane(rest)]));
  earlier(credit_deadline());
  return first;
}

}  // namespace weft::link
