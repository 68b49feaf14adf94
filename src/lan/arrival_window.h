// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::lan {

// Which of the newest frames of a sender have come, by their numbers, which are modulo 2^32 and
// begin anywhere. Gaps are usual, since a sender counts all that it sends to anybody.
class ArrivalWindow {
 public:
  enum class Verdict : std::uint8_t {
    kNew,
    kDoubled,
    kLate,  // so far behind that nobody knows any more
  };
  static constexpr std::int32_t kSpan = 64;
  // Who is further behind than networks delay datagrams has begun to count anew.
  static constexpr std::int32_t kRestart = 1 << 20;

  // Whether the first part of a frame with this number is to be taken.
  [[nodiscard]] Verdict look(std::uint32_t number) {
    const std::int32_t ahead = ahead_of_newest(number);
    if (any_ && ahead <= -kRestart) any_ = false;
    if (!any_ || ahead > 0) return Verdict::kNew;
    if (ahead <= -kSpan) return Verdict::kLate;
    return (come_ >> -ahead & 1) != 0 ? Verdict::kDoubled : Verdict::kNew;
  }

  // The frame is whole, or given up. Where that would be late, nothing changes.
  void mark(std::uint32_t number) {
    const std::int32_t ahead = ahead_of_newest(number);
    if (!any_ || ahead >= kSpan) {
      any_ = true;
      newest_ = number;
      come_ = 1;
    } else if (ahead > 0) {
      newest_ = number;
      come_ = come_ << ahead | 1;
    } else if (ahead > -kSpan) {
      come_ |= std::uint64_t{1} << -ahead;
    }
  }

 private:
  [[nodiscard]] std::int32_t ahead_of_newest(std::uint32_t number) const {
    return static_cast<std::int32_t>(number - newest_);
  }

  bool any_ = false;
  std::uint32_t newest_ = 0;
  std::uint64_t come_ = 0;  // bit n: the one n before the newest
};

}  // namespace weft::lan
