// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/objects.h"

namespace weft::verbs {

struct RegionRequest {
  void* address = nullptr;
  std::size_t length = 0;
  std::uint64_t iova = 0;  // what work requests and peers call `address`
  unsigned access = 0;     // IBV_ACCESS_*
};

inline constexpr std::size_t kMaxDeviceMemory = std::size_t{1} << 20;  // bytes of one allocation

// Registers memory of the process; nullptr and errno on failure.
ibv_mr* register_region(ibv_pd* pd, const RegionRequest& request);

}  // namespace weft::verbs
