// SPDX-License-Identifier: Apache-2.0
#include "wan/plan.h"

#include <cmath>

namespace weft::wan {
namespace {

constexpr double kPlanMost = 0x1p62;

// Rounded up: a byte that is not there holds the sender up.
double bytes_in(Duration time, std::uint64_t rate_bytes_per_s) {
  const auto product = static_cast<unsigned __int128>(time.count()) * rate_bytes_per_s;
  return static_cast<double>((product + 999'999'999) / 1'000'000'000);
}

Duration time_for(std::uint64_t bytes, std::uint64_t rate_bytes_per_s) {
  const auto product = static_cast<unsigned __int128>(bytes) * 1'000'000'000;
  return Duration(static_cast<std::int64_t>(product / rate_bytes_per_s));
}

std::optional<BlockSize> block_size_for(std::uint64_t bytes) {
  for (std::uint8_t scale = 0; scale <= BlockSize::kMostScale; ++scale) {
    if (BlockSize(scale).blocks(bytes) <= kStandardBlocks) return BlockSize(scale);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Plan> make_plan(const PlanInput& input) {
  Plan plan;
  if (input.round_trip) {
    plan.round_trip = *input.round_trip;
    plan.one_way = plan.round_trip / 2;
  } else {
    const double fibre = input.distance_m * input.fibre_ns_per_m;
    if (!(fibre < kPlanMost / 4) || input.equipment > Duration::max() / 4) return std::nullopt;
    plan.one_way = Duration(std::llround(fibre)) + input.equipment;
    plan.round_trip = 2 * plan.one_way;
  }
  plan.remotes = input.sites - 1;
  const double per_lane = bytes_in(plan.round_trip, input.rate_bytes_per_s);
  if (!(per_lane * input.lanes * static_cast<double>(plan.remotes) < kPlanMost))
    return std::nullopt;
  plan.under_way = static_cast<std::uint64_t>(bytes_in(plan.one_way, input.rate_bytes_per_s));
  plan.buffer_per_lane = static_cast<std::uint64_t>(per_lane);
  plan.buffer_per_remote = plan.buffer_per_lane * input.lanes;
  plan.buffer = plan.buffer_per_remote * plan.remotes;
  plan.standard_is_enough = plan.buffer_per_lane <= kStandardCredit;
  plan.standard_reach = time_for(kStandardCredit, input.rate_bytes_per_s);
  plan.local_reach = time_for(input.local_credit, input.rate_bytes_per_s);
  plan.local_blocks = input.local_credit / 64;
  plan.block_size = block_size_for(plan.buffer_per_lane);
  plan.blocks = BlockSize().blocks(plan.buffer_per_lane);
  return plan;
}

}  // namespace weft::wan
