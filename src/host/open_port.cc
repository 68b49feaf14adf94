// SPDX-License-Identifier: Apache-2.0
#include "host/open_port.h"

#include "host/agent_slots.h"
#include "host/agent_start.h"
#include "host/guarded_copy.h"
#include "port/ring/fabric_port.h"
#include "port/roce/roce_port.h"
#include "port/roce/slot_group.h"
#include "port/udp/udp_port.h"

namespace weft::host {
namespace {

bool guard_sends(void (*body)(void*), void* argument) {
  return guarded(body, argument);
}

port::NetworkConfig network_config(const DeviceInfo& device, const Config& config) {
  port::NetworkConfig network;
  network.interface = device.interface;
  network.ifindex = device.ifindex;
  network.socket_buffer = config.socket_buffer;
  network.capture = config.capture;
  network.guard = guard_sends;
  network.faults = config.faults;
  return network;
}

port::FabricPortConfig fabric_config(const DeviceInfo& device, const Config& config) {
  port::FabricPortConfig fabric;
  fabric.place = {config.lab, config.node};
  fabric.capture = config.capture;
  fabric.device = device.name;
  fabric.guard = guard_sends;
  fabric.faults = config.faults;
  return fabric;
}

// Under `weft run` the host agent has UDP port 4791 for all processes. Without it a process is on
// its own, and its devices share what it has.
const std::shared_ptr<port::SlotSource>& slots(std::uint32_t socket_buffer) {
  static const auto source = [&]() -> std::shared_ptr<port::SlotSource> {
    if (agent_is_named()) return std::make_shared<AgentSlots>();
    return std::make_shared<port::OwnSlots>(
        port::SlotGroupConfig{.slots = 16, .socket_buffer = socket_buffer});
  }();
  return source;
}

}  // namespace

Expected<std::unique_ptr<port::Port>> open_port(const DeviceInfo& device, const Config& config,
                                                Entropy& entropy) {
  ensure_fault_handler();
  if (!config.node.empty()) return port::FabricPort::open(fabric_config(device, config));
  if (config.wire == Wire::kRoce) {
    port::RocePortConfig roce{network_config(device, config)};
    return port::RocePort::open(roce, slots(config.socket_buffer), entropy);
  }
  port::UdpPortConfig udp{network_config(device, config)};
  udp.framing = config.wire == Wire::kBare ? hca::UdFraming::kBare : hca::UdFraming::kBth;
  udp.first_port = config.first_port;
  udp.last_port = config.last_port;
  udp.management_port = config.cm_port;
  return port::UdpPort::open(udp, entropy);
}

}  // namespace weft::host
