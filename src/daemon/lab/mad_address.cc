// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/mad_address.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace weft::daemon {

mgmt::MadAddress address_from(const umad::protocol::Address& from) {
  mgmt::MadAddress to{.lid = Lid{from.lid},
                      .sl = Sl{from.sl},
                      .path_bits = from.path_bits,
                      .qpn = Qpn{from.qpn},
                      .qkey = QKey{from.qkey},
                      .pkey_index = from.pkey_index};
  if (from.global != 0) {
    mgmt::GlobalAddress global{.gid_index = from.gid_index,
                               .flow_label = from.flow_label & 0xFFFFF,
                               .hop_limit = from.hop_limit,
                               .traffic_class = from.traffic_class};
    std::array<std::uint8_t, 16> gid{};
    std::copy(std::begin(from.gid), std::end(from.gid), gid.begin());
    global.gid = Gid(gid);
    to.global = global;
  }
  return to;
}

umad::protocol::Address address_to(const mgmt::MadAddress& from) {
  umad::protocol::Address to{};
  to.qpn = from.qpn.value();
  to.qkey = from.qkey.value();
  to.lid = from.lid.value();
  to.pkey_index = from.pkey_index;
  to.sl = from.sl.value();
  to.path_bits = from.path_bits;
  if (from.global) {
    to.global = 1;
    to.gid_index = from.global->gid_index;
    to.hop_limit = from.global->hop_limit;
    to.traffic_class = from.global->traffic_class;
    to.flow_label = from.global->flow_label;
    const auto& gid = from.global->gid.bytes();
    std::copy(gid.begin(), gid.end(), std::begin(to.gid));
  }
  return to;
}

}  // namespace weft::daemon
