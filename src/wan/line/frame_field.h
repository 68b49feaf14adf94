// SPDX-License-Identifier: Apache-2.0
// A field of a frame as people read it: what describes a frame is a list of these, in order.
#pragma once

#include <cstddef>
#include <string>

namespace weft::wan {

struct FrameField {
  std::string name;
  std::string value;
  std::size_t at = 0;    // bytes from the beginning of what is described
  std::size_t size = 0;  // bytes, at least those that have a bit of it
};

}  // namespace weft::wan
