// SPDX-License-Identifier: Apache-2.0
// The memory through which a program and the daemon of a lab hand packets to each other: two files
// that the daemon creates and seals, each written by one side and read by the other.
//
//   program's memory                      daemon's memory
//     ProgramPage                           DaemonPage
//     SendSlot   x kSlots                   ArrivalSlot x kSlots
//     payload blocks x kBlocks              numbers of freed blocks x kBlocks
//                                           payload blocks x kBlocks
//
// Counts only grow, modulo 2^64; the entry of number n is at n modulo the ring's size. A side
// publishes what it wrote by a release store to its count, which the other acquires.
//
// The payload of a packet is in a block of the sender's. It stays there until the last receiver has
// taken the packet: programs of one user read it where it is (ArrivalSlot::arena), for others the
// daemon copies it to a block of its own. Freed blocks come back in any order.
//
// Nobody trusts what the other wrote: counts, sizes and numbers are checked, and what is checked is
// a copy.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::port::ring {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kLine = 64;        // of a cache
inline constexpr std::uint32_t kSlots = 1024;   // of each ring
inline constexpr std::uint32_t kBlocks = 1024;  // of each side
inline constexpr std::uint32_t kBlock = 4096;   // bytes: a payload of the largest MTU
inline constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};
inline constexpr std::uint32_t kDaemonArena = 0;  // its own blocks
inline constexpr std::size_t kMostHeader = 128;   // bytes, as link::Packet has it
inline constexpr std::size_t kMostTrailer = 9;    // bytes: pad, ICRC, VCRC

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free);

// Who is going to sleep says so, then looks once more, and only then sleeps; who has published
// something looks afterwards whether the other sleeps. Both are sequentially consistent, so that
// one of them sees the other.
struct ProgramPage {
  alignas(kLine) Count sent;  // packets handed over
  // How often the program ran out of slots or blocks: once for each, the daemon wakes it when there
  // are more. The program rings the doorbell where the daemon sleeps until something is sent.
  Count stalls;
  alignas(kLine) Count taken;  // arrivals done with: their slots and blocks are free again
  // How often the program began to wait for arrivals: once for each, the daemon wakes it when
  // something has arrived.
  Count waits;
};

// What the daemon sleeps for. A bit mask; 0: it looks by itself.
enum Sleep : std::uint32_t {
  kUntilSent = 1u << 0,   // a program that sends rings the doorbell
  kUntilTaken = 1u << 1,  // so does one that has taken arrivals: others wait for room or blocks
};

struct DaemonPage {
  alignas(kLine) Count accepted;  // packets taken over: their slots are free again
  Count freed;                    // blocks of the program
  alignas(kLine) Count arrived;
  alignas(kLine) std::atomic<std::uint32_t> sleeps;  // Sleep
};

// A packet, LRH through VCRC: header, payload in a block, trailer, as link::Packet cuts it. The VL
// in the LRH is 0; the adapter puts in the one of the SL, and brings the VCRC up to date. What
// arrives for a raw queue pair has the VL that it came on.
//
// Nothing damages what lies in memory, so a packet may come and go without its CRCs: the trailer
// has room for them, and whoever takes the packet out of memory fills them in.
struct alignas(kLine) SendSlot {
  std::uint32_t epoch;         // of the Facts by which it was made
  std::uint32_t source;        // queue pair number that it is sent from
  std::uint32_t block;         // kNoBlock: no payload besides what is in the header
  std::uint32_t payload_size;  // bytes, from the beginning of the block; 0 without one
  std::uint8_t header_size;
  std::uint8_t trailer_size;
  std::uint8_t port;      // of the adapter, by which it is to leave; that of the queue pair
  std::uint8_t unsealed;  // 1: its ICRC and VCRC are not filled in; 0: they are
  std::array<std::byte, kMostTrailer> trailer;
  std::array<std::byte, kMostHeader> header;
};

struct alignas(kLine) ArrivalSlot {
  std::uint32_t arena;  // where the block is: kDaemonArena, or of a program
  std::uint32_t block;
  std::uint32_t payload_size;
  std::uint8_t header_size;
  std::uint8_t trailer_size;
  std::uint8_t port;      // of the adapter, to which it came
  std::uint8_t unsealed;  // as of SendSlot
  std::uint32_t raw;      // the raw queue pair that it is for; 0: the one that the packet names
  std::array<std::byte, kMostTrailer> trailer;
  std::array<std::byte, kMostHeader> header;
};

struct ProgramMemory {
  alignas(kPage) ProgramPage page;
  alignas(kPage) std::array<SendSlot, kSlots> slots;
  alignas(kPage) std::array<std::array<std::byte, kBlock>, kBlocks> blocks;
};

struct DaemonMemory {
  alignas(kPage) DaemonPage page;
  alignas(kPage) std::array<ArrivalSlot, kSlots> slots;
  alignas(kPage) std::array<std::uint32_t, kBlocks> freed;
  alignas(kPage) std::array<std::array<std::byte, kBlock>, kBlocks> blocks;
};

}  // namespace weft::port::ring
