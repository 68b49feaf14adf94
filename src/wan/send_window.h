// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::wan {

// How many bytes of packets may be under way to the other end, so that what waits there to be read
// finds room: as many as the path itself holds, which is the rate at which packets come times the
// shortest round trip, and a queue that the other end has room for. So a reader that is slower than
// the network makes its sender slower, and loses nothing. As long as hardly anything waits on the
// way it grows by half in a round trip, or by twice the room. Not for paths with a rate of the
// user's, which need not find it out.
class SendWindow {
 public:
  // What was seen longer ago than twice this counts no more: routes change.
  static constexpr Duration kSpan = 10s;
  // A queue that is no longer lets a reader that sleeps now and then find something each time.
  static constexpr std::uint64_t kQueue = std::uint64_t{1} << 20;  // bytes

  // Of any size.
  SendWindow() = default;
  // `room`: bytes that the other end has told of; 0: any number.
  explicit SendWindow(std::uint64_t room) : room_(room), bytes_(queue()) {}

  // With so many bytes under way, another frame may leave: the last one may go beyond.
  [[nodiscard]] bool admits(std::uint64_t under_way) const {
    return room_ == 0 || under_way < bytes_;
  }
  // Of no use where it is of any size.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  // News of a frame that left a round trip ago, and that so many bytes have come since then.
  void hear(std::uint64_t come, Duration round_trip, Time now);

 private:
  // The most bytes that the path held and the shortest round trip, in one span of time.
  struct Seen {
    std::uint64_t pipe = 0;
    Duration round_trip = Duration::max();
  };
  [[nodiscard]] std::uint64_t pipe() const;
  // What may wait on the way: more on a long one, where less of it can be told from chance.
  [[nodiscard]] std::uint64_t queue() const;

  std::uint64_t room_ = 0;
  Seen now_;
  Seen before_;
  Time span_begin_{};
  std::uint64_t waiting_ = ~std::uint64_t{0};  // bytes on the way, the fewest in this round trip
  Time round_begin_{};
  bool grows_ = true;
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::wan
