// SPDX-License-Identifier: Apache-2.0
#include "port/udp/udp_port.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "io/clock.h"
#include "io/net_interfaces.h"
#include "port/udp/multicast.h"
#include "port/udp/udp_endpoint.h"

namespace weft::port {
namespace {

// IP and UDP headers, BTH, DETH, ImmDt and ICRC around a message, with the larger IP header.
constexpr std::uint32_t kOverhead = 40 + 8 + 12 + 8 + 4 + 4;
constexpr std::array<std::uint32_t, 5> kMtus{4096, 2048, 1024, 512, 256};

// The largest IBA path MTU whose packets fit the interface's MTU.
std::uint32_t path_mtu(std::uint32_t interface_mtu) {
  for (const std::uint32_t mtu : kMtus) {
    if (mtu + kOverhead <= interface_mtu) return mtu;
  }
  return kMtus.back();
}

// Global addresses before link-local ones, IPv4 before IPv6: index 0 is what most programs use.
int gid_rank(const Gid& gid) {
  if (gid.is_ipv4_mapped()) return 0;
  return gid.is_link_local() ? 2 : 1;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

PortAttributes UdpShared::read_attributes() {
  PortAttributes attributes;
  attributes.pkeys = {kDefaultPKey};
  const auto interfaces = io::list_interfaces();
  if (!interfaces) return attributes;  // down: nothing is known about it
  const auto found = std::find_if(interfaces->begin(), interfaces->end(),
                                  [&](const auto& each) { return each.index == config.ifindex; });
  if (found == interfaces->end()) return attributes;
  attributes.state = found->up && found->running ? LinkState::kActive : LinkState::kDown;
  attributes.link_up = found->running;
  attributes.active_mtu = path_mtu(found->mtu);
  attributes.max_message = attributes.active_mtu;
  attributes.rate_mbps = found->speed_mbps.value_or(0);
  for (const auto& address : found->addresses) {
    if (!address.tentative) attributes.gids.push_back({address.address, found->index});
  }
  std::stable_sort(attributes.gids.begin(), attributes.gids.end(),
                   [](const auto& a, const auto& b) { return gid_rank(a.gid) < gid_rank(b.gid); });
  return attributes;
}

std::optional<Gid> UdpShared::find_own(const std::function<bool(const Gid&)>& matches, Time now) {
  const std::lock_guard guard(mutex_);
  const auto find = [&]() -> std::optional<Gid> {
    for (const GidEntry& entry : gids_) {
      if (matches(entry.gid)) return entry.gid;
    }
    return std::nullopt;
  };
  if (const auto found = find()) return found;
  if (!gids_.empty() && now - refreshed_ < 1s) return std::nullopt;
  gids_ = read_attributes().gids;
  refreshed_ = now;
  return find();
}

void UdpShared::add(const UdpEndpoint& endpoint) {
  const std::lock_guard guard(mutex_);
  endpoints_.insert(&endpoint);
}

void UdpShared::remove(const UdpEndpoint& endpoint) {
  const std::lock_guard guard(mutex_);
  retired_overflows_ += endpoint.overflows();
  endpoints_.erase(&endpoint);
}

std::vector<CounterValue> UdpShared::read_counters() {
  std::vector<CounterValue> values = counters.snapshot();
  const std::lock_guard guard(mutex_);
  std::uint64_t overflows = retired_overflows_;
  for (const UdpEndpoint* endpoint : endpoints_)
    overflows += endpoint->overflows();
  values[static_cast<std::size_t>(UdpCounter::kRxOverflow)].value = overflows;
  return values;
}

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

Expected<std::unique_ptr<Endpoint>> UdpPort::open_endpoint() {
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
      return std::unique_ptr<Endpoint>(new UdpEndpoint(shared_, std::move(*socket)));
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
