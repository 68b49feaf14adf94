// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a long link: what is under way on it, and what its ends must be able to hold so
// that it is full and nothing is dropped.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "wan/tunnel_credit.h"

namespace weft::wan {

// What a standard link can grant to a virtual lane at once (IBA 7.9.4.4): 2,048 blocks of 64 bytes.
inline constexpr std::uint64_t kStandardBlocks = 2048;
inline constexpr std::uint64_t kStandardCredit = kStandardBlocks * 64;

struct PlanInput {
  double distance_m = 0;                 // of fibre
  double fibre_ns_per_m = 5;             // light in glass
  Duration equipment = 0ns;              // what else delays, one way
  std::optional<Duration> round_trip{};  // measured; the three above count for nothing then
  std::uint64_t rate_bytes_per_s = 1'250'000'000;  // of data, each way; not 0
  unsigned lanes = 1;                              // data VLs in use, 1 to 15
  unsigned sites = 2;                              // that have an extender, 2 or more
  std::uint64_t local_credit = 8 * 1024;           // what the local link advertises for a VL; not 0
};

// Sizes are in bytes.
struct Plan {
  Duration one_way{};
  Duration round_trip{};
  std::uint64_t under_way = 0;  // in one direction at once, at the full rate
  // A lane that is to fill the path alone needs all that is sent until an answer is there: what is
  // under way both ways.
  std::uint64_t buffer_per_lane = 0;
  std::uint64_t buffer_per_remote = 0;  // for all lanes, each of them full at once
  std::uint64_t remotes = 0;            // sites that each have a share of a buffer of their own
  std::uint64_t buffer = 0;             // of a site
  bool standard_is_enough = false;      // a standard link's credit would fill the path
  Duration standard_reach{};            // the longest round trip for which that is so
  Duration local_reach{};               // for which what the local link advertises is enough
  std::uint64_t local_blocks = 0;       // 64-byte blocks of what the local link advertises
  // How the tunnel may count buffer_per_lane: by larger blocks, as many as a standard link grants;
  // or by more of the standard's blocks. Nothing where no block size that there is would do.
  std::optional<BlockSize> block_size;
  std::uint64_t blocks = 0;
};

// Nothing where a sum is beyond 2^62 bytes.
[[nodiscard]] std::optional<Plan> make_plan(const PlanInput& input);

// The data that a line of so many bytes per second carries in 8b/10b code (IBA Vol 2, 5.2).
[[nodiscard]] constexpr std::uint64_t data_rate_8b10b(std::uint64_t signalling_bytes_per_s) {
  return signalling_bytes_per_s / 10 * 8 + signalling_bytes_per_s % 10 * 8 / 10;
}

}  // namespace weft::wan
