// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/range_check.h"

#include <fmt/format.h>

namespace weft::phy {

Expected<void> check_range(const RangedField& field) {
  // Written so that what is not a number fails too.
  if (field.value >= field.least && field.value <= field.most) return {};
  return fail(std::errc::invalid_argument,
              fmt::format("{} must be from {} to {}, not {}", field.name, field.least, field.most,
                          field.value));
}

}  // namespace weft::phy
