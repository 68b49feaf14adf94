// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_interfaces.h"

#include <algorithm>
#include <utility>

#include "host/config.h"
#include "host/device_list.h"
#include "io/clock.h"
#include "io/route.h"
#include "port/udp/udp_port.h"

namespace weft::daemon {
namespace {

// Between two readings that a look-up causes.
constexpr Duration kHostInterfacesPause = 50ms;
// Any: only the route to it is looked up.
constexpr std::uint16_t kSomePort = port::kManagementPort;

}  // namespace

Expected<std::vector<HostInterfaces::Known>> HostInterfaces::read() const {
  const auto devices = host::list_devices(host::Config{});
  if (!devices) return tl::unexpected(devices.error());
  std::vector<Known> out;
  for (const host::DeviceInfo& device : *devices) {
    // Programs get their GID indices from a port like this one.
    port::UdpPortConfig config;
    config.interface = device.interface;
    config.ifindex = device.ifindex;
    const auto port = port::UdpPort::open(config, entropy_);
    if (!port) return tl::unexpected(port.error());
    const port::PortAttributes attributes = (*port)->attributes(1);
    for (std::size_t i = 0; i < attributes.gids.size(); ++i) {
      Known known;
      known.address = attributes.gids[i].gid;
      known.local.gid = known.address;
      known.ifindex = device.ifindex;
      known.interface = device.interface;
      known.local.end.ca_guid = device.node_guid;
      known.local.end.sgid_index = static_cast<std::uint8_t>(i);
      known.local.end.scope_id = known.address.is_link_local() ? device.ifindex : 0;
      known.local.path_mtu = attributes.active_mtu;
      known.local.rate_mbps = attributes.rate_mbps;
      out.push_back(known);
    }
  }
  return out;
}

Expected<void> HostInterfaces::refresh() {
  auto fresh = read();
  if (!fresh) return tl::unexpected(fresh.error());
  known_ = std::move(*fresh);
  read_at_ = io::now();
  return {};
}

std::string HostInterfaces::interface_of(const Gid& address) const {
  const Known* known = look_up(address, 0);
  return known == nullptr ? std::string() : known->interface;
}

std::vector<Gid> HostInterfaces::addresses() const {
  std::vector<Gid> out;
  for (const Known& known : known_)
    out.push_back(known.address);
  return out;
}

const HostInterfaces::Known* HostInterfaces::look_up(const Gid& address,
                                                     std::uint32_t scope_id) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.address == address && (scope_id == 0 || known.ifindex == scope_id);
  });
  return found == known_.end() ? nullptr : &*found;
}

std::optional<rdmacm::LocalAddress> HostInterfaces::describe(const Gid& address,
                                                             std::uint32_t scope_id) const {
  if (const Known* known = look_up(address, scope_id)) return known->local;
  const Time now = io::now();
  if (now - read_at_ < kHostInterfacesPause) return std::nullopt;
  read_at_ = now;
  if (auto fresh = read()) known_ = std::move(*fresh);
  const Known* known = look_up(address, scope_id);
  return known == nullptr ? std::nullopt : std::optional(known->local);
}

std::optional<mgmt::LocalEnd> HostInterfaces::find(const Gid& address) const {
  const auto known = describe(address, 0);
  return known ? std::optional(known->end) : std::nullopt;
}

tl::expected<Gid, std::errc> HostInterfaces::source_for(const Gid& destination,
                                                        std::uint32_t scope_id) const {
  const auto source = io::routed_source({destination, kSomePort, scope_id});
  if (!source) return tl::unexpected(std::errc::network_unreachable);
  return *source;
}

}  // namespace weft::daemon
