// SPDX-License-Identifier: Apache-2.0
// A node of a lab as those see it who manage its ports from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mgmt/node_management.h"
#include "umad/protocol.h"

namespace weft::daemon {

struct MadNode {
  mgmt::NodeManagement* management = nullptr;
  const mgmt::ManagedNode* node = nullptr;
  // To be called after `management` or one of its ports was: there may be something to send, or
  // another deadline.
  std::function<void()> used;
};

// no_such_device, in words for a person: no node of that name runs here. What it names lasts as
// long as the lab.
using FindMadNode = std::function<Expected<MadNode>(std::string_view name)>;

// The ports that have a MAD layer: of a switch 0, of a channel adapter 1 and up.
[[nodiscard]] std::vector<mgmt::PortNumber> mad_ports(const MadNode& node);
// invalid_argument, in words for a person, unless it has `port`.
Expected<mgmt::PortNumber> check_mad_port(const MadNode& node, std::string_view name,
                                          std::uint32_t port);

// What programs are told of it.
[[nodiscard]] umad::protocol::Welcome adapter_facts(const MadNode& node);
[[nodiscard]] umad::protocol::PortFacts port_facts(const MadNode& node, mgmt::PortNumber port);
// The whole table, free entries too.
[[nodiscard]] std::vector<std::uint16_t> port_pkeys(const MadNode& node, mgmt::PortNumber port);
// All of that in the messages that answer Hello{kDescribe}, one after the other.
[[nodiscard]] std::vector<std::vector<std::byte>> description_of(const MadNode& node);

}  // namespace weft::daemon
