// SPDX-License-Identifier: Apache-2.0
#include "cli/device_attributes.h"

#include "host/open_port.h"
#include "io/system_entropy.h"
#include "port/udp/udp_port.h"

namespace weft::cli {
namespace {

// On the wires of IP the port says the same whatever the wire, and `roce` has one of its kind only.
Expected<std::unique_ptr<port::Port>> open_device(const host::DeviceInfo& info,
                                                  const host::Config& config, Entropy& entropy) {
  if (!config.node.empty()) return host::open_port(info, config, entropy);
  port::UdpPortConfig port;
  port.interface = info.interface;
  port.ifindex = info.ifindex;
  port.framing = config.wire == host::Wire::kBare ? hca::UdFraming::kBare : hca::UdFraming::kBth;
  port.first_port = config.first_port;
  port.last_port = config.last_port;
  return port::UdpPort::open(port, entropy);
}

}  // namespace

Expected<std::vector<Device>> read_devices(const host::Config& config,
                                           const std::vector<host::DeviceInfo>& devices) {
  io::SystemEntropy entropy;
  std::vector<Device> out;
  for (const host::DeviceInfo& info : devices) {
    auto opened = open_device(info, config, entropy);
    if (!opened) return tl::unexpected(opened.error());
    out.push_back({info, (*opened)->attributes(1)});
  }
  return out;
}

}  // namespace weft::cli
