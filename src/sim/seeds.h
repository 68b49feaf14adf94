// SPDX-License-Identifier: Apache-2.0
// Which seeds a simulation test runs, and what it says when one fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::sim {

// Seeds 1 to `usual`; to $WEFT_SIM_SEEDS when that is set (script/test --full sets it higher); or
// $WEFT_SIM_SEED alone, to replay one.
std::vector<std::uint64_t> seeds(std::uint64_t usual);

// "seed 17; replay: WEFT_SIM_SEED=17 <program> --gtest_filter=<test>"
std::string how_to_replay(std::uint64_t seed, const std::string& test);

}  // namespace weft::sim
