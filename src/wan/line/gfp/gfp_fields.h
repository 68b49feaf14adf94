// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "wan/line/frame_field.h"
#include "wan/line/gfp/gfp_header.h"

namespace weft::wan {

// The names of G.7041, for people.
[[nodiscard]] std::string_view to_text(GfpManagement what);
// "IPv6", "InfiniBand"; "UPI 0x55" where nothing is known of it.
[[nodiscard]] std::string gfp_user_text(std::uint8_t upi);

// A frame as it is before scrambling, from its core header on, field by field; each check says
// whether it is right, or what it should be. Ends where the frame does, or where nothing more can
// be read: the last field then says why.
[[nodiscard]] std::vector<FrameField> gfp_fields(Bytes frame);

}  // namespace weft::wan
