// SPDX-License-Identifier: Apache-2.0
// One direction of a link through memory: written by one side, read by the other. Two of them make
// the link; each side's counts are in its own, so that neither needs to write to the other's.
//
// What is in the ring is records, one after the other: a word that says kind and size, and the
// bytes, up to a multiple of 8. A record lies in one piece; what is left at the end of the ring is
// skipped. Counts are of bytes, and only grow, modulo 2^64.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::carrier {

inline constexpr std::size_t kRingBytes = std::size_t{1} << 18;
inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kRingAlignment = 4096;

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free);

// What the owner of the memory sleeps for: a bit mask. Who has published something looks whether
// the other side sleeps; who is going to sleep says so and then looks once more. Both are
// sequentially consistent, so that one of them sees the other.
enum RingSleep : std::uint32_t {
  kUntilWritten = 1u << 0,
  kUntilRead = 1u << 1,  // its own ring is full
};

enum class RecordKind : std::uint32_t { kSkip = 1, kPacket = 2, kFlowControl = 3 };

// The first 8 bytes of a record.
struct RecordHead {
  std::uint32_t kind = 0;
  std::uint32_t size = 0;  // bytes that follow
};

struct RingMemory {
  alignas(kCacheLine) Count written;  // to `bytes`
  alignas(kCacheLine) Count read;     // of the other side's
  std::atomic<std::uint32_t> sleeps;  // RingSleep
  alignas(kRingAlignment) std::array<std::byte, kRingBytes> bytes;
};

}  // namespace weft::carrier
