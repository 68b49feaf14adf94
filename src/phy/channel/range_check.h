// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/error.h"

namespace weft::phy {

// A number of a description that a person wrote, and what it may be, both ends included.
struct RangedField {
  std::string_view name;
  double value = 0;
  double least = 0;
  double most = 0;
};

// "length_m must be from 0 to 100, not nan"
[[nodiscard]] Expected<void> check_range(const RangedField& field);

}  // namespace weft::phy
