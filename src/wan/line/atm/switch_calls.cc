// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/switch_calls.h"

#include <algorithm>

namespace weft::wan::atm {

SwitchCalls::SwitchCalls(CellSwitch& cells, const SignallingOptions& options) : cells_(cells) {
  SignallingOptions own = options;
  own.side = Side::kNetwork;
  for (std::size_t port = 0; port < cells.ports(); ++port)
    sides_.push_back(std::make_unique<SwitchSide>(*this, port, own));
}

void SwitchCalls::take(std::size_t port, const CellRun& run, Time now) {
  sides_[port]->channel.take(run, now);
}

std::size_t SwitchCalls::put_cells(std::size_t port, MutableBytes cells) {
  return sides_[port]->channel.put_cells(cells);
}

void SwitchCalls::advance(Time now) {
  for (const auto& side : sides_)
    side->channel.end().advance(now);
}

Time SwitchCalls::next_deadline() const {
  Time next = Time::max();
  for (const auto& side : sides_)
    next = std::min(next, side->channel.end().next_deadline());
  return next;
}

std::optional<std::size_t> SwitchCalls::port_of(const Aesa& address, std::size_t asked_at) const {
  const auto station = stations_.find(address);
  if (station != stations_.end()) return station->second;
  if (unknown_elsewhere_ && sides_.size() == 2) return 1 - asked_at;
  return std::nullopt;
}

// The connection through the switch is there at once; a station uses it when its call is active.
void SwitchCalls::came(const Leg& leg, const SignallingMessage& setup, Time now) {
  SignallingEnd& from = side(leg.port);
  const std::optional<std::size_t> at = port_of(*setup.called, leg.port);
  if (!at || *at == leg.port) {
    from.release(leg.call, Cause::kUnassignedNumber, now);
    return;
  }
  const std::size_t port = *at;
  const std::optional<Channel> near = cells_.free_channel(leg.port);
  const std::optional<Channel> far = cells_.free_channel(port);
  if (!near || !far || !cells_.connect({leg.port, *near}, {port, *far})) {
    from.release(leg.call, Cause::kNoChannel, now);
    return;
  }
  SignallingMessage onward = setup;
  onward.channel = far;
  const std::optional<CallId> call = side(port).place(onward, now);
  if (!call) {
    cells_.disconnect({leg.port, *near});
    from.release(leg.call, Cause::kNoUserResponding, now);
    return;
  }
  const Leg other{port, *call};
  legs_[leg] = {.leg = other, .own = *near};
  legs_[other] = {.leg = leg, .own = *far};
  from.proceed(leg.call, near, now);
}

void SwitchCalls::connected(const Leg& leg, Time now) {
  const auto at = legs_.find(leg);
  // Of the called station: now the one that calls is told.
  if (at == legs_.end() || !leg.call.placed_here) return;
  const Leg other = at->second.leg;
  side(other.port).connect(other.call, std::nullopt, now);
}

void SwitchCalls::ended(const Leg& leg, Cause cause, Time now) {
  const auto at = legs_.find(leg);
  if (at == legs_.end()) return;
  const Leg other = at->second.leg;
  cells_.disconnect({leg.port, at->second.own});
  legs_.erase(at);
  legs_.erase(other);
  side(other.port).release(other.call, cause, now);
}

}  // namespace weft::wan::atm
