// SPDX-License-Identifier: Apache-2.0
#include "link/inbox.h"

namespace weft::link {

void Inbox::push(const Signal& signal, Time arrives) {
  signals_.push_back({signal, pushed_, arrives});
}

Inbox::Signal Inbox::pop_signal() {
  assert(signal_is_next());
  const Signal signal = signals_[next_signal_].signal;
  if (++next_signal_ == signals_.size()) {
    signals_.clear();
    next_signal_ = 0;
  }
  return signal;
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
