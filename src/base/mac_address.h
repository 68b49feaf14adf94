// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace weft {

// An address of Ethernet (IEEE 802, 8.2), as its six octets are sent.
using MacAddress = std::array<std::uint8_t, 6>;

// As ==, which calls a function of the library for six bytes. For each frame.
[[nodiscard]] inline bool is_same(const MacAddress& one, const MacAddress& other) {
  const auto number = [](const MacAddress& mac) {
    std::uint32_t front = 0;
    std::uint16_t back = 0;
    std::memcpy(&front, mac.data(), sizeof front);
    std::memcpy(&back, mac.data() + sizeof front, sizeof back);
    return std::uint64_t{back} << 32 | front;
  };
  return number(one) == number(other);
}

}  // namespace weft
