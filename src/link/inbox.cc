// SPDX-License-Identifier: Apache-2.0
#include "link/inbox.h"

#include <cassert>
#include <utility>

namespace weft::link {

void Inbox::push(PacketPtr packet, Time arrives) {
  packet->arrived_at = arrives;
  packets_.push(std::move(packet));
  ++pushed_;
}

void Inbox::push(const Signal& signal, Time arrives) {
  signals_.push_back({signal, pushed_, arrives});
}

bool Inbox::signal_is_next() const {
  return next_signal_ != signals_.size() && signals_[next_signal_].after == popped_;
}

std::optional<Time> Inbox::next() const {
  if (signal_is_next()) return signals_[next_signal_].arrives;
  if (packets_.empty()) return std::nullopt;
  return packets_.front()->arrived_at;
}

Inbox::Item Inbox::pop() {
  assert(!empty());
  if (signal_is_next()) {
    const Signal signal = signals_[next_signal_].signal;
    if (++next_signal_ == signals_.size()) {
      signals_.clear();
      next_signal_ = 0;
    }
    return signal;
  }
  ++popped_;
  return packets_.pop();
}

std::size_t Inbox::clear() {
  const std::size_t packets = packets_.size();
  popped_ += static_cast<std::uint32_t>(packets);
  packets_.clear();
  signals_.clear();
  next_signal_ = 0;
  return packets;
}

}  // namespace weft::link
