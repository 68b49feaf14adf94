// SPDX-License-Identifier: Apache-2.0
// What becomes of the text of a lab file.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "fabric/lab_file.h"

namespace weft::fabric {

inline Lab parsed(std::string_view text) {
  const auto lab = parse_lab(text, "lab.toml");
  EXPECT_TRUE(lab) << lab.error().message;
  return lab.value_or(Lab{});
}

inline std::string refusal(std::string_view text) {
  const auto lab = parse_lab(text, "lab.toml");
  EXPECT_FALSE(lab) << text;
  return lab ? "" : lab.error().message;
}

}  // namespace weft::fabric
