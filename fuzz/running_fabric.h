// SPDX-License-Identifier: Apache-2.0
// A fabric that runs in virtual time, and what a subnet manager would have done to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/time.h"
#include "fabric/fabric.h"
#include "fabric/lab_file.h"
#include "input.h"

namespace weft::fuzz {

struct RunningFabric {
  RunningFabric(std::string_view lab, const fabric::FabricLimits& limits)
      : fabric(*fabric::parse_lab(lab, "lab"), limits) {
    fabric.start(now);
    settle();
  }

  // All that happens without time passing, which comes to an end.
  void settle() {
    for (int round = 0; round < 10'000; ++round) {
      const auto deadline = fabric.deadline();
      if (!deadline || *deadline > now) return;
      fabric.run(now, 1000);
    }
    require(false);
  }
  // Long enough for every timer, and every repetition of a trap, to end.
  void run_off() {
    for (int step = 0; step < 1000 && fabric.deadline(); ++step) {
      now = std::max(now, *fabric.deadline());
      settle();
    }
  }

  void activate() {
    for (const auto state : {link::PortState::kArmed, link::PortState::kActive}) {
      for (std::size_t link = 0; link < fabric.link_count(); ++link) {
        for (const std::size_t side : {0U, 1U})
          fabric.end(link, side).link().set_state(state, now);
      }
      settle();
    }
  }
  // Where unicast LIDs go up to `top`, and multicast ones.
  void route(std::string_view of_switch, const wire::LinearBlock& block, Lid top,
             std::uint16_t multicast_ports = 0) {
    mgmt::ManagedNode& node = *fabric.find_node(of_switch);
    node.set_linear(0, block);
    wire::SwitchInfo info = node.switch_info();
    info.linear_top = top;
    node.set_switch_info(info);
    wire::MulticastBlock masks;
    masks.masks.fill(multicast_ports);
    node.set_multicast(0, 0, masks);
  }
  // Of one of the node's ports; of port 0 of a switch.
  void give_lid(mgmt::ManagedNode& node, mgmt::PortNumber port, Lid lid, std::uint8_t lmc = 0,
                Lid manager = {}) {
    wire::PortInfo info = node.port_info(port);
    info.lid = lid;
    info.lmc = lmc;
    info.master_sm_lid = manager;
    node.set_port_info(port, info, now);
  }

  Time now{1s};
  fabric::Fabric fabric;
};

// All of whose entries lead nowhere.
inline wire::LinearBlock no_routes() {
  wire::LinearBlock block;
  block.ports.fill(wire::LinearBlock::kNoPort);
  return block;
}

}  // namespace weft::fuzz
