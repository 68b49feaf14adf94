// SPDX-License-Identifier: Apache-2.0
// What is in cells, PDUs and messages, field by field, for people. Anything can be explained: what
// cannot be is said in a last field "error".
#pragma once

#include <vector>

#include "base/bytes.h"
#include "wan/line/frame_field.h"

namespace weft::wan::atm {

// kCellSize bytes, payload in the clear; of OAM cells their fields too.
[[nodiscard]] std::vector<FrameField> explain_cell(Bytes cell);
// All cells' payloads of a PDU of AAL type 5, and the LLC/SNAP header in it, if any.
[[nodiscard]] std::vector<FrameField> explain_pdu(Bytes pdu);
// A PDU of SSCOP, and the message that it has, if any.
[[nodiscard]] std::vector<FrameField> explain_signalling(Bytes sscop);

}  // namespace weft::wan::atm
