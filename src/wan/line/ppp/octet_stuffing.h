// SPDX-License-Identifier: Apache-2.0
// Octet stuffing (RFC 1662, 4.2): within a frame, 7E and 7D go as 7D and the octet with bit 5
// turned. There is no character map here: a line in SONET/SDH carries every octet.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace weft::wan {

// Copies octets up to the first 7E or 7D, which is not copied, or up to the end of either span.
// How many. Octets of `to` behind them may have changed. The spans do not overlap.
[[nodiscard]] std::size_t copy_plain(Bytes from, MutableBytes to);

}  // namespace weft::wan
