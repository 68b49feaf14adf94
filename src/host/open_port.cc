// SPDX-License-Identifier: Apache-2.0
#include "host/open_port.h"

#include "host/guarded_copy.h"
#include "port/roce/roce_port.h"
#include "port/roce/slot_group.h"
#include "port/udp/udp_port.h"

namespace weft::host {
namespace {

port::NetworkConfig network_config(const DeviceInfo& device, const Config& config) {
  port::NetworkConfig network;
  network.interface = device.interface;
  network.ifindex = device.ifindex;
  network.socket_buffer = config.socket_buffer;
  network.capture = config.capture;
  network.guard = [](void (*body)(void*), void* argument) { return guarded(body, argument); };
  network.faults = config.faults;
  return network;
}

// Devices of a process share its slots.
const std::shared_ptr<port::SlotSource>& own_slots(std::uint32_t socket_buffer) {
  static const std::shared_ptr<port::SlotSource> slots = std::make_shared<port::OwnSlots>(
      port::SlotGroupConfig{.slots = 16, .socket_buffer = socket_buffer});
  return slots;
}

}  // namespace

Expected<std::unique_ptr<port::Port>> open_port(const DeviceInfo& device, const Config& config,
                                                Entropy& entropy) {
  ensure_fault_handler();
  if (config.wire == Wire::kRoce) {
    port::RocePortConfig roce{network_config(device, config)};
    return port::RocePort::open(roce, own_slots(config.socket_buffer), entropy);
  }
  port::UdpPortConfig udp{network_config(device, config)};
  udp.framing = config.wire == Wire::kBare ? hca::UdFraming::kBare : hca::UdFraming::kBth;
  udp.first_port = config.first_port;
  udp.last_port = config.last_port;
  udp.management_port = config.cm_port;
  return port::UdpPort::open(udp, entropy);
}

}  // namespace weft::host
