// SPDX-License-Identifier: Apache-2.0
#include "port/udp/udp_port.h"

#include "port/udp/multicast.h"

namespace weft::port {

Expected<std::unique_ptr<UdpPort>> UdpPort::open(const UdpPortConfig& config, Entropy& entropy) {
  WireRules rules;
  rules.framing = config.framing;
  rules.management_port = config.management_port;
  auto shared = UdpShared::create(config, rules);
  if (!shared) return tl::unexpected(shared.error());
  auto sockets =
      std::make_shared<SocketPool>(*shared, config.first_port, config.last_port, entropy);
  return std::unique_ptr<UdpPort>(new UdpPort(std::move(*shared), std::move(sockets)));
}

Gid UdpPort::group_address(const Gid& group) const {
  return multicast_group(group);
}

Expected<std::unique_ptr<Endpoint>> UdpPort::open_endpoint(Service service) {
  if (service == Service::kDatagram) return sockets_->open_sole();
  if (framing() == hca::UdFraming::kBare) {
    return fail(std::errc::operation_not_supported,
                "wire bare has datagram queue pairs only: connections need a transport header");
  }
  return sockets_->open_connected(service);
}

Expected<std::unique_ptr<Endpoint>> UdpPort::open_management() {
  if (framing() == hca::UdFraming::kBare) {
    return fail(std::errc::operation_not_supported, "wire bare has no queue pair 1");
  }
  auto socket = shared_->open_socket(shared_->rules.management_port);
  if (!socket) return tl::unexpected(socket.error());
  auto inlet = UdpShared::open_inlet(shared_, std::move(*socket), Lease{});
  if (!inlet) return tl::unexpected(inlet.error());
  return std::make_unique<UdpEndpoint>(shared_, std::move(*inlet), kQp1, Lease{});
}

}  // namespace weft::port
