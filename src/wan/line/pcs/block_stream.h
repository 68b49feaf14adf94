// SPDX-License-Identifier: Apache-2.0
// Many 66-bit blocks at once: the self-synchronous scrambler 1 + x^39 + x^58 over their payloads
// (IEEE 802.3, 49.2.6), which leaves out the headers, and how they lie in octets back to back, four
// of them in 33.
//
// Each bit goes out as its sum with those that went out 39 and 58 bits before, so that one word
// waits for the other. But the sum of a stream with itself delayed so can be taken out again:
// scrambling is division by P = 1 + D^39 + D^58, and P^16 = 1 + D^624 + D^928 (over bits, squaring
// only doubles the delays). To multiply by P, P^2, P^4 and P^8, which needs nothing that went out,
// and then divide by P^16 is the same, and a step of 512 bits does not wait for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "wan/line/pcs/block.h"

namespace weft::wan {

inline constexpr std::size_t kGroupBlocks = 4;
inline constexpr std::size_t kGroupOctets = 33;
inline constexpr std::size_t kBlockBits = 66;

// Which bit of an octet is first on the line.
enum class BitOrder : std::uint8_t {
  kLeastFirst,  // as Ethernet's (IEEE 802.3, 3.3), and of fibres
  kMostFirst,   // as SONET/SDH's: inside of an STS-192c
};

// One direction of a line: what goes out. The register, here the last payload on the line, is all
// ones at the start: the standard leaves it open (49.2.6), examples have it so.
class BlockScrambler {
 public:
  // `to` has as much room as `from`, and is the same memory or does not overlap.
  void scramble(std::span<const std::uint64_t> from, std::span<std::uint64_t> to);
  // Scrambles and packs: a multiple of four blocks, each with its header, into 33 octets for four.
  void pack(std::span<const std::uint64_t> payloads, std::span<const std::uint8_t> headers,
            MutableBytes octets);

 private:
  std::uint64_t sent_ = ~std::uint64_t{0};
};

// The other direction. It is in step after one payload, whatever was before that.
class BlockDescrambler {
 public:
  // Takes as many blocks as there are `payloads` out of octets, from bit `at` on, least significant
  // first, and descrambles them; there are as many bits, and as much room for headers.
  void unpack(Bytes octets, std::size_t at, std::span<std::uint64_t> payloads,
              std::span<std::uint8_t> headers);

 private:
  std::uint64_t heard_ = 0;  // the last payload on the line
};

// Turns each octet round.
void reverse_bits(Bytes from, MutableBytes to);

// One way to do it. The classes above use the best that the machine can run; tests and benchmarks
// compare them all. `sent`, `heard` and what is returned is the last payload on the line.
struct BlockStreamKernel {
  std::string_view name;
  std::uint64_t (*scramble)(const std::uint64_t* from, std::uint64_t* to, std::size_t count,
                            std::uint64_t sent);
  std::uint64_t (*pack)(const std::uint64_t* payloads, const std::uint8_t* headers,
                        std::size_t groups, std::byte* octets, std::uint64_t sent);
  std::uint64_t (*unpack)(Bytes octets, std::size_t at, std::size_t count, std::uint64_t* payloads,
                          std::uint8_t* headers, std::uint64_t heard);
};

// The kernels that this machine can run, the one in use last.
[[nodiscard]] std::span<const BlockStreamKernel> block_stream_kernels();

}  // namespace weft::wan
