// SPDX-License-Identifier: Apache-2.0
#include "port/udp/udp_shared.h"

#include <algorithm>
#include <array>

#include "io/clock.h"
#include "io/net_interfaces.h"
#include "port/udp/udp_inlet.h"

namespace weft::port {
namespace {

// The most around a payload: IP (the larger one) and UDP headers, BTH, XRCETH, RETH, ImmDt, ICRC.
constexpr std::uint32_t kOverhead = 40 + 8 + 12 + 4 + 16 + 4 + 4;
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

}  // namespace

Expected<std::shared_ptr<UdpShared>> UdpShared::create(const NetworkConfig& config,
                                                       const WireRules& rules) {
  auto shared = std::make_shared<UdpShared>(config, rules);
  if (!config.capture.empty()) {
    auto capture = Capture::open(config.capture, config.interface);
    if (!capture) return tl::unexpected(capture.error());
    shared->capture = std::move(*capture);
  }
  return shared;
}

Expected<io::UdpSocket> UdpShared::open_socket(std::uint16_t port, const SocketUse& use) const {
  io::UdpOptions options;
  options.local.port = port;
  options.tell_overflows = false;
  options.coalesce = false;  // until runs arrive
  options.tell_errors = true;
  options.tell_destination = !rules.icrc_tells_destination();
  options.accept_zero_checksum6 = rules.fixed_port != 0;
  options.receive_buffer = config.socket_buffer;
  options.send_buffer = config.socket_buffer;
  options.tos = use.traffic_class;
  options.tell_hops = use.shows_headers || capture != nullptr;
  return io::UdpSocket::open(options);
}

Expected<io::UdpSocket> UdpShared::open_sender() const {
  io::UdpOptions options;
  options.deaf = true;
  options.tell_destination = false;
  options.tell_overflows = false;
  options.coalesce = false;
  options.tell_errors = true;
  options.send_buffer = config.socket_buffer;
  return io::UdpSocket::open(options);
}

Expected<std::shared_ptr<UdpInlet>> UdpShared::open_inlet(const std::shared_ptr<UdpShared>& shared,
                                                          io::UdpSocket socket, Lease lease,
                                                          std::optional<io::UdpSocket> sender) {
  std::unique_ptr<InletFaults> faults;
  if (shared->config.faults.any()) {
    auto created = InletFaults::create(shared->config.faults, shared->inlets_opened_++);
    if (!created) return tl::unexpected(created.error());
    faults = std::move(*created);
  }
  return std::make_shared<UdpInlet>(shared, std::move(socket), std::move(sender), std::move(lease),
                                    std::move(faults));
}

PortAttributes UdpShared::read_attributes() {
  PortAttributes attributes;
  attributes.pkeys = {kDefaultPKey};
  const auto interfaces = io::list_interfaces();
  if (!interfaces) return attributes;  // down: nothing is known about it
  attributes.active_mtu = 0;
  for (const auto& each : *interfaces) {
    if (config.ifindex != 0 && each.index != config.ifindex) continue;
    if (each.up && each.running) attributes.state = LinkState::kActive;
    attributes.link_up = attributes.link_up || each.running;
    attributes.active_mtu = std::max(attributes.active_mtu, path_mtu(each.mtu));
    attributes.rate_mbps = std::max(attributes.rate_mbps, each.speed_mbps.value_or(0));
    for (const auto& address : each.addresses) {
      if (!address.tentative) attributes.gids.push_back({address.address, each.index});
    }
  }
  if (attributes.active_mtu == 0) attributes.active_mtu = kMtus.front();
  attributes.max_message = attributes.active_mtu;
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

void UdpShared::add(const UdpInlet& inlet) {
  const std::lock_guard guard(mutex_);
  inlets_.insert(&inlet);
}

void UdpShared::remove(const UdpInlet& inlet) {
  const std::lock_guard guard(mutex_);
  retired_overflows_ += inlet.overflows();
  inlets_.erase(&inlet);
}

std::vector<CounterValue> UdpShared::read_counters() {
  std::vector<CounterValue> values = counters.snapshot();
  const std::lock_guard guard(mutex_);
  std::uint64_t overflows = retired_overflows_;
  for (const UdpInlet* inlet : inlets_)
    overflows += inlet->overflows();
  values[static_cast<std::size_t>(UdpCounter::kRxOverflow)].value = overflows;
  return values;
}

}  // namespace weft::port
