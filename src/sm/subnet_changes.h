// SPDX-License-Identifier: Apache-2.0
// What is different between two sweeps: nodes that came and went, and links.
#pragma once

#include "sm/manager_event.h"
#include "sm/subnet.h"
#include "sm/subnet_store.h"

namespace weft::sm {

// Tells each difference once, and records it; returns how many there are. Neither `tell` nor
// `store` need be there.
std::size_t tell_changes(const Subnet& before, const Subnet& after, const EventHandler& tell,
                         SubnetStore* store = nullptr);

// "0x0002c90300001234 (host1)"
[[nodiscard]] std::string name_of(const SubnetNode& node);
// "0x0002c90300001234 (host1) port 1"
[[nodiscard]] std::string name_of(const Subnet& subnet, const PortRef& at);

}  // namespace weft::sm
