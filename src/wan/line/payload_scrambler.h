// SPDX-License-Identifier: Apache-2.0
// The self-synchronous scrambler 1 + x^43 of payloads in SONET/SDH (ITU-T I.432.1, 7.3.3.1; G.7041,
// 6.1.2.3; RFC 2615): each bit goes out as its sum with the one that went out 43 bits before. A
// wrong bit becomes two, and whoever begins to listen understands after 43 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace weft::wan {

// One direction of a line. The register goes on from call to call.
class PayloadScrambler {
 public:
  // Both may be the same memory, or do not overlap; `to` has at least as many bytes.
  void scramble(Bytes from, MutableBytes to);
  void scramble(MutableBytes bytes) { scramble(bytes, bytes); }

 private:
  std::uint64_t sent_ = 0;  // the last 64 bits on the line, the latest in bit 0
};

class PayloadDescrambler {
 public:
  // As PayloadScrambler::scramble().
  void descramble(Bytes from, MutableBytes to);
  void descramble(MutableBytes bytes) { descramble(bytes, bytes); }

 private:
  std::uint64_t heard_ = 0;  // the last 64 bits on the line, the latest in bit 0
};

// One way to do it. The classes above use the best that the machine can run; tests and benchmarks
// compare them all. `sent`, `heard` and what is returned are the last 64 bits on the line.
struct PayloadScramblerKernel {
  std::string_view name;
  std::uint64_t (*scramble)(const std::byte* from, std::byte* to, std::size_t size,
                            std::uint64_t sent);
  std::uint64_t (*descramble)(const std::byte* from, std::byte* to, std::size_t size,
                              std::uint64_t heard);
};

// The kernels that this machine can run, the one in use last.
[[nodiscard]] std::span<const PayloadScramblerKernel> payload_scrambler_kernels();

}  // namespace weft::wan
