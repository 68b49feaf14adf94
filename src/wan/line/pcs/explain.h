// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/bytes.h"
#include "wan/line/frame_field.h"
#include "wan/line/pcs/block_stream.h"

namespace weft::wan {

// The blocks of a line for a person, each with its header, its type and its lanes: "C" idle and
// other control codes by their characters, "O", "S" and "T" as in block.h, octets in hexadecimal.
// Blocks begin at the first bit from which on all headers are good; empty: there is none. Nothing
// is said of the first one but its header, with which the descrambler comes in step.
[[nodiscard]] std::vector<FrameField> explain_blocks(Bytes octets, BitOrder order);

}  // namespace weft::wan
