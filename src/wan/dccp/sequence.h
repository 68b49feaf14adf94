// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::wan::dccp {

// A sequence number of DCCP: 48 bits, in a circle (RFC 4340, 7.1).
class Sequence {
 public:
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;

  constexpr Sequence() = default;
  explicit constexpr Sequence(std::uint64_t value) : value_(value & kMask) {}
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

  constexpr Sequence operator+(std::uint64_t by) const { return Sequence(value_ + by); }
  constexpr Sequence operator-(std::uint64_t by) const { return Sequence(value_ - by); }
  // How much later this one is than `other`, the shorter way round: negative where it is earlier.
  [[nodiscard]] constexpr std::int64_t after(Sequence other) const {
    return static_cast<std::int64_t>((value_ - other.value_) << 16) >> 16;
  }
  friend constexpr bool operator==(Sequence, Sequence) = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace weft::wan::dccp
