// SPDX-License-Identifier: Apache-2.0
// What is on a line, for a person: the frames, cells and blocks in its octets, field by field.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "wan/line/frame_field.h"

namespace weft::wan {

struct LineUnit {
  std::string kind;  // "STM-1 frame", "PPP frame", "cell", ...
  std::vector<FrameField> fields;
};

// The first `most` of each kind that a stack has, the line's own before what it carries; idle ones
// are passed over. Errors are those of LineStack::parse().
Expected<std::vector<LineUnit>> explain_line(std::string_view stack, Bytes octets,
                                             std::size_t most);

}  // namespace weft::wan
