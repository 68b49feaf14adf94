// SPDX-License-Identifier: Apache-2.0
// Cells of operation and maintenance of one connection, flow F5 (ITU-T I.610, 10.1 and 10.2):
//
//   type, 4 bits | function, 4 bits | 45 octets of the function | reserved, 6 bits | CRC-10
//
// They go among the connection's other cells with a payload type of their own: from end to end, or
// over one segment of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wan/line/atm/cell.h"

namespace weft::wan::atm {

// Of fault management, type 0001: type and function as one octet.
enum class OamFunction : std::uint8_t {
  kAlarm = 0x10,   // AIS: nothing comes from further up
  kRemote = 0x11,  // RDI: nothing comes to the other end
  kContinuity = 0x14,
  kLoopback = 0x18,
};

struct OamLoopback {
  static constexpr std::size_t kIdSize = 16;
  using Id = std::array<std::byte, kIdSize>;
  static constexpr Id of(std::byte all) {
    Id id{};
    id.fill(all);
    return id;
  }
  static constexpr std::byte kEnd{0xFF};
  static constexpr std::byte kUnused{0x6A};

  bool to_be_looped = true;  // the point that loops it clears this
  std::uint32_t tag = 0;     // correlation tag: the sender's own
  Id location = of(kEnd);    // which point is to loop it
  Id source = of(kUnused);   // who has sent it, where that is said

  friend bool operator==(const OamLoopback&, const OamLoopback&) = default;
};

using OamPayload = std::array<std::byte, kPayloadSize>;
[[nodiscard]] OamPayload write_oam(const OamLoopback& loopback);
// Without a word on what failed and where, which is optional (10.2.1).
[[nodiscard]] OamPayload write_oam(OamFunction function);

struct OamCell {
  std::uint8_t type_and_function = 0;
  std::optional<OamLoopback> loopback;  // where it is one

  [[nodiscard]] bool is(OamFunction function) const {
    return type_and_function == static_cast<std::uint8_t>(function);
  }
};
// Nothing: its CRC is wrong.
[[nodiscard]] std::optional<OamCell> read_oam(Bytes payload);

}  // namespace weft::wan::atm
