// SPDX-License-Identifier: Apache-2.0
#include "wan/send_window.h"

#include <algorithm>
#include <utility>

namespace weft::wan {

std::uint64_t SendWindow::pipe() const {
  return std::max(now_.pipe, before_.pipe);
}

std::uint64_t SendWindow::queue() const {
  return std::min(std::max(kQueue, pipe() / 8), room_);
}

void SendWindow::hear(std::uint64_t come, Duration round_trip, Time now) {
  if (room_ == 0 || round_trip <= 0ns) return;
  if (now - span_begin_ >= kSpan) {
    before_ = std::exchange(now_, {});
    span_begin_ = now;
  }
  now_.round_trip = std::min(now_.round_trip, round_trip);
  // Of what has come in this round trip, that much would have come in the shortest one.
  const double share = static_cast<double>(std::min(now_.round_trip, before_.round_trip).count()) /
                       static_cast<double>(round_trip.count());
  const auto held = static_cast<std::uint64_t>(static_cast<double>(come) * share);
  now_.pipe = std::max(now_.pipe, held);
  waiting_ = std::min(waiting_, come - held);
  if (now - round_begin_ >= round_trip) {
    grows_ = std::exchange(waiting_, ~std::uint64_t{0}) < queue() / 2;
    round_begin_ = now;
  }
  const std::uint64_t more = grows_ ? std::min(pipe() / 2, 2 * room_) : 0;
  bytes_ = pipe() + queue() + more;
}

}  // namespace weft::wan
