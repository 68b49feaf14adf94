// SPDX-License-Identifier: Apache-2.0
// Which identifiers hold which ports: one space of 65,535 numbers for each port space of rdma_cm,
// with the rules of sharing that programs know from sockets.
#pragma once

#include <cstdint>
#include <map>
#include <system_error>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/entropy.h"
#include "rdmacm/address.h"

namespace weft::rdmacm {

// What an identifier wants of a port.
struct PortClaim {
  std::uint32_t handle = 0;
  Family family = Family::kNone;
  Gid address{};         // zero: any
  bool reuse = false;    // RDMA_OPTION_ID_REUSEADDR
  bool af_only = false;  // any address of its own family only
  bool listening = false;
};

class PortTable {
 public:
  // The ports that bind() draws from when none is named, as a host's ip_local_port_range.
  struct Range {
    std::uint16_t first = 32768;
    std::uint16_t last = 60999;
  };

  PortTable(Entropy& entropy, Range range) : entropy_(entropy), range_(range) {}

  // Takes `port`, or a free one of the range when it is 0, and returns it. address_in_use: somebody
  // holds the same address and port; address_not_available: one of the two is any address, or no
  // port of the range is free. Those who all said reuse and do not listen share.
  tl::expected<std::uint16_t, std::errc> bind(wire::PortSpace space, std::uint16_t port,
                                              const PortClaim& claim);

  // A holder begins to listen: nobody else may hold the address then, reuse or not.
  std::errc listen(wire::PortSpace space, std::uint16_t port, std::uint32_t handle);

  void release(wire::PortSpace space, std::uint16_t port, std::uint32_t handle);

 private:
  using Key = std::pair<wire::PortSpace, std::uint16_t>;

  [[nodiscard]] std::errc conflict(const std::vector<PortClaim>& holders, const PortClaim& claim,
                                   bool reuse) const;
  [[nodiscard]] tl::expected<std::uint16_t, std::errc> draw(wire::PortSpace space) const;

  Entropy& entropy_;
  Range range_;
  std::map<Key, std::vector<PortClaim>> holders_;
};

}  // namespace weft::rdmacm
