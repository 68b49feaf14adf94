// SPDX-License-Identifier: Apache-2.0
#include "cli/device_attributes.h"

#include "io/system_entropy.h"
#include "port/udp/udp_port.h"

namespace weft::cli {

Expected<std::vector<Device>> read_devices(const host::Config& config,
                                           const std::vector<host::DeviceInfo>& devices) {
  io::SystemEntropy entropy;
  std::vector<Device> out;
  for (const host::DeviceInfo& info : devices) {
    port::UdpPortConfig port;
    port.interface = info.interface;
    port.ifindex = info.ifindex;
    port.framing = config.wire == host::Wire::kBare ? hca::UdFraming::kBare : hca::UdFraming::kBth;
    port.first_port = config.first_port;
    port.last_port = config.last_port;
    auto opened = port::UdpPort::open(port, entropy);
    if (!opened) return tl::unexpected(opened.error());
    out.push_back({info, (*opened)->attributes()});
  }
  return out;
}

}  // namespace weft::cli
