// SPDX-License-Identifier: Apache-2.0
#include "port/udp/udp_port.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "port/udp/multicast.h"
#include "port/udp/udp_endpoint.h"

namespace weft::port {
namespace {

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

Expected<std::unique_ptr<UdpPort>> UdpPort::open(const UdpPortConfig& config, Entropy& entropy) {
  auto shared = std::make_shared<UdpShared>();
  shared->config = config;
  shared->numbers = std::make_unique<PortNumbers>(config.first_port, config.last_port, entropy);
  if (!config.capture.empty()) {
    auto capture = Capture::open(config.capture, config.interface);
    if (!capture) return tl::unexpected(capture.error());
    shared->capture = std::move(*capture);
  }
  return std::unique_ptr<UdpPort>(new UdpPort(std::move(shared)));
}

Gid UdpPort::group_address(const Gid& group) const {
  return multicast_group(group);
}

Expected<std::unique_ptr<Endpoint>> UdpPort::open_endpoint(Service service) {
  if (service == Service::kConnected && framing() == hca::UdFraming::kBare) {
    return fail(std::errc::operation_not_supported,
                "wire bare has datagram queue pairs only: connections need a transport header");
  }
  UdpShared& shared = *shared_;
  bool raised = false;
  for (std::size_t tries = shared.numbers->available(); tries > 0; --tries) {
    const auto port = shared.numbers->take();
    if (!port) break;
    io::UdpOptions options;
    options.local.port = *port;
    options.tell_overflows = false;
    options.coalesce = false;  // until runs arrive
    options.tell_destination = shared.config.framing != hca::UdFraming::kBth;
    options.receive_buffer = shared.config.socket_buffer;
    options.send_buffer = shared.config.socket_buffer;
    auto socket = io::UdpSocket::open(options);
    if (socket) {
      const Qpn qpn{socket->port()};
      auto inlet = std::make_shared<UdpInlet>(shared_, std::move(*socket));
      return std::unique_ptr<Endpoint>(new UdpEndpoint(shared_, std::move(inlet), qpn));
    }
    shared.numbers->give_back(*port);
    if (socket.error().code == std::errc::too_many_files_open && !raised) {
      // A socket per queue pair goes beyond the usual soft limit of 1024; up to the hard limit is
      // the user's to take.
      raise_descriptor_limit();
      raised = true;
      ++tries;
    } else if (socket.error().code != std::errc::address_in_use) {
      return tl::unexpected(socket.error());
    }
  }
  return fail(std::errc::not_enough_memory,
              fmt::format("no UDP port is free for a queue pair between {} and {}: widen the range "
                          "with `weft run --ports FIRST-LAST` (WEFT_PORTS)",
                          shared.numbers->first(), shared.numbers->last()));
}

}  // namespace weft::port
