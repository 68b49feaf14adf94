// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "port/port.h"
#include "port/ring/attach_protocol.h"

namespace weft::port {

// What the daemon said last about a port of the adapter on which a program is.
struct PortFacts {
  std::uint8_t port = 1;  // of the adapter
  std::uint32_t epoch = 0;
  std::uint32_t neighbor_mtu = 256;  // bytes
  PortAttributes attributes{};

  [[nodiscard]] bool is_active() const { return attributes.state == LinkState::kActive; }
  [[nodiscard]] std::uint16_t path_mask() const {
    return static_cast<std::uint16_t>((1u << attributes.lmc) - 1);
  }
  // Whether packets with that P_Key may be sent (IBA 10.9.3): it is in the table, and valid.
  [[nodiscard]] bool has_pkey(PKey key) const;
};

// From a Facts message, with the tables that follow it. bad_message: it is none.
Expected<PortFacts> parse_facts(Bytes message);

// Data rate in Mb/s, as it is called ("4X QDR": 40,000), of PortInfo's codes; 0: none. `speed` as
// PortAttributes has it.
[[nodiscard]] std::uint64_t rate_mbps(std::uint8_t width_active, std::uint8_t speed);

// PortNews: how `after` differs from `before`.
[[nodiscard]] std::uint32_t port_news(const PortAttributes& before, const PortAttributes& after);

}  // namespace weft::port
