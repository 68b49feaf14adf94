// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/bytes.h"
#include "wan/line/frame_field.h"
#include "wan/line/sonet/geometry.h"

namespace weft::wan::sonet {

// What the overhead of a frame says, in the order of the frame: each octet that has a name, with
// what it means where that can be told of one frame. Where the path overhead is, the frame's
// pointer says, and that of the frame before is taken to have been the same; without a valid one,
// there is none. `plain` is not scrambled and has the size of a frame.
[[nodiscard]] std::vector<FrameField> explain(Level level, Bytes plain);
// The same of a frame as the line has it.
[[nodiscard]] std::vector<FrameField> explain_line(Level level, Bytes line);

}  // namespace weft::wan::sonet
