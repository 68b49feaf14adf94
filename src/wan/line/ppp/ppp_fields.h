// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/bytes.h"
#include "wan/line/frame_field.h"
#include "wan/line/ppp/ppp_frame.h"

namespace weft::wan {

// A frame between two flags, without its stuffing and with its FCS, field by field. LCP and the
// network control protocols are told too. Ends where the frame does, or where nothing more can be
// read: the last field then says why.
[[nodiscard]] std::vector<FrameField> ppp_fields(PppFcs fcs, Bytes frame);

// The information field of LCP, IPV6CP, IPCP or MPLSCP, beginning at octet `at` of whatever it is
// told of.
[[nodiscard]] std::vector<FrameField> control_fields(PppProtocol protocol, Bytes information,
                                                     std::size_t at = 0);

}  // namespace weft::wan
