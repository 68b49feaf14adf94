// SPDX-License-Identifier: Apache-2.0
// A request turned into its answer, in place.
#pragma once

#include "wire/endian.h"
#include "wire/mad.h"
#include "wire/sm/smp.h"

namespace weft::mgmt {

[[nodiscard]] inline wire::MgmtClass mad_class(wire::MadBytes mad) {
  return static_cast<wire::MgmtClass>(wire::load_u8(mad.data() + 1));
}
[[nodiscard]] inline wire::MadMethod mad_method(wire::MadBytes mad) {
  return static_cast<wire::MadMethod>(wire::load_u8(mad.data() + 3));
}
[[nodiscard]] inline bool is_smp(wire::MgmtClass mgmt_class) {
  return mgmt_class == wire::MgmtClass::kSubnLid || mgmt_class == wire::MgmtClass::kSubnDirected;
}
// Whether somebody waits for an answer of the same method with the response bit (IBA 13.4.5): Get
// and Set, and what the administrator adds.
[[nodiscard]] inline bool asks_for_answer(wire::MadMethod method) {
  using enum wire::MadMethod;
  return method == kGet || method == kSet || method == kGetTable || method == kGetTraceTable ||
         method == kGetMulti || method == kDelete;
}
// Of a request and of TrapRepress, which answers a trap: IBA 13.4.6.3.
[[nodiscard]] inline bool answers(wire::MadMethod method) {
  return (static_cast<std::uint8_t>(method) & wire::kResponseBit) != 0 ||
         method == wire::MadMethod::kTrapRepress;
}

// Of Get and Set it is GetResp; of what asks otherwise, the same method with the response bit.
inline void make_answer(wire::MutableMadBytes mad, wire::MadStatus status) {
  const wire::MadMethod method = mad_method(mad);
  const bool get = method == wire::MadMethod::kGet || method == wire::MadMethod::kSet;
  wire::store_u8(mad.data() + 3, get ? static_cast<std::uint8_t>(wire::MadMethod::kGetResponse)
                                     : static_cast<std::uint8_t>(static_cast<std::uint8_t>(method) |
                                                                 wire::kResponseBit));
  const bool directed = mad_class(mad) == wire::MgmtClass::kSubnDirected;
  wire::store_be16(mad.data() + 4,
                   static_cast<std::uint16_t>(static_cast<std::uint16_t>(status) |
                                              (directed ? wire::smp::kDirectionBit : 0)));
}

}  // namespace weft::mgmt
