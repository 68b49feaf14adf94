// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wan/frame.h"

namespace weft::wan {

// Frames that may be open at a time: a sender has no more on their way.
inline constexpr std::uint64_t kFrameWindow = std::uint64_t{1} << 20;

// Which frames of a session have come: no frame is taken twice, and the sender can be told.
class ArrivalLog {
 public:
  ArrivalLog() : bits_(kFrameWindow / 64) {}

  // Frame `number` has not come yet, and is not so far ahead that the log has no place for it.
  [[nodiscard]] bool awaits(std::uint64_t number) const;
  // It has. Only one that is awaited.
  void arrived(std::uint64_t number);
  // All before this one have come, or never will.
  void settle(std::uint64_t before);

  // The first that has not come and is not settled.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  // Some have come beyond that.
  [[nodiscard]] bool gaps() const { return end_ > next_; }
  // Which ones, the newest first, as offsets from next(). Returns how many ranges it has filled in.
  std::size_t ranges(std::span<AcknowledgeItem::Range> out) const;

 private:
  [[nodiscard]] bool has(std::uint64_t number) const {
    return (bits_[number % kFrameWindow / 64] >> (number % 64) & 1) != 0;
  }
  void forget(std::uint64_t number) {
    bits_[number % kFrameWindow / 64] &= ~(std::uint64_t{1} << (number % 64));
  }
  // The last number at or below `from`, but at least `least`, that has come or has not; least - 1:
  // there is none.
  [[nodiscard]] std::uint64_t last(bool come, std::uint64_t from, std::uint64_t least) const;
  void advance();

  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;  // one beyond the newest that has come
  // A ring: what lies outside of next_ to end_ is 0.
  std::vector<std::uint64_t> bits_;
};

}  // namespace weft::wan
