// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "rdmacm/address.h"

namespace weft::rdmacm {

// Membership of a port in a multicast group of a fabric (IBA 15.2.5.17): what is asked for, and
// what the group is then.
struct GroupQuestion {
  Gid mgid{};
  Gid port_gid{};
  std::uint8_t port = 1;
  PKey pkey = kDefaultPKey;
  QKey qkey{};
  std::uint8_t traffic_class = 0;
  bool send_only = false;  // a member that does not receive
};
struct GroupRecord {
  Gid mgid{};
  Lid mlid{};
  QKey qkey{};
  Sl sl{};
  std::uint8_t rate = 0;  // a code
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
};

// The group that an address stands for: an IPv4 or IPv6 group as IP over InfiniBand maps it
// (RFC 4391), with the signature of rdma_cm for its port space UDP; an MGID is itself.
[[nodiscard]] Gid mgid_of(const Address& group, wire::PortSpace space, PKey pkey);

}  // namespace weft::rdmacm
