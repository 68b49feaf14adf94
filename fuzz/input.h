// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/bytes.h"

namespace weft::fuzz {

// A property of the code under test: the run ends as a failure when it does not hold.
inline void require(bool condition) {
  if (!condition) std::abort();
}

// The bytes of a run as decisions. When they are used up, zeros follow.
class Input {
 public:
  explicit Input(Bytes bytes) : cursor_(bytes) {}
  [[nodiscard]] bool empty() const { return cursor_.remaining() == 0; }
  std::uint8_t byte() {
    const auto one = cursor_.take(1);
    return one ? std::to_integer<std::uint8_t>(one->front()) : std::uint8_t{0};
  }
  std::uint16_t word() { return static_cast<std::uint16_t>(byte() << 8 | byte()); }
  std::uint32_t number() { return std::uint32_t{word()} << 16 | word(); }
  Bytes some() {
    const std::size_t wanted = byte();
    return *cursor_.take(std::min(wanted, cursor_.remaining()));
  }
  // One of `n`, from 0.
  std::uint8_t one_of(unsigned n) { return static_cast<std::uint8_t>(byte() % n); }
  // Rarely true: for what would end most runs early.
  bool rarely() { return byte() >= 0xF8; }

 private:
  ByteCursor cursor_;
};

}  // namespace weft::fuzz
