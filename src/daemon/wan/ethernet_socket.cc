// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/ethernet_socket.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/wan/addressed_path.h"
#include "daemon/wan/ethernet_filter.h"
#include "io/packet_socket.h"
#include "io/tap_device.h"
#include "wan/encapsulation/out_packet.h"

namespace weft::daemon {
namespace {

constexpr int kEthernetSocketTurn = 4;  // batches that are received before others get their turn
constexpr std::string_view kEthernetSocketTap = "tap:";

Expected<std::unique_ptr<io::EthernetDevice>> open_tap(const std::string& name,
                                                       std::span<const sock_filter> filter) {
  auto tap = io::TapDevice::open(name, filter);
  if (tap) return std::unique_ptr<io::EthernetDevice>(std::move(*tap));
  const Error& error = tap.error();
  const bool forbidden = error.code == std::errc::operation_not_permitted ||
                         error.code == std::errc::permission_denied;
  if (!forbidden) return tl::unexpected(error);
  return fail(error.code, fmt::format("{}: the capability CAP_NET_ADMIN is missing, without which "
                                      "the kernel makes nobody a TAP interface; one that "
                                      "`ip tuntap add dev {} mode tap user USER` has made needs "
                                      "none",
                                      error.message, name));
}

Expected<std::unique_ptr<io::EthernetDevice>> open_packets(const std::string& interface,
                                                           const Gid& own,
                                                           std::span<const sock_filter> filter) {
  std::vector<io::EthernetDevice::Mac> groups;
  if (!own.is_ipv4_mapped()) {
    groups.push_back(wan::ethernet_of_group(wan::solicited_node_group(own)));
  }
  auto socket = io::PacketSocket::open(interface, filter, groups);
  if (socket) return std::unique_ptr<io::EthernetDevice>(std::move(*socket));
  const Error& error = socket.error();
  if (error.code != std::errc::operation_not_permitted) return tl::unexpected(error);
  return fail(error.code,
              fmt::format("{}: the capability CAP_NET_RAW is missing, without which the "
                          "kernel lets nobody send frames of his own; encapsulation = "
                          "\"udp/{}\" needs none",
                          error.message, own.is_ipv4_mapped() ? "ipv4" : "ipv6"));
}

}  // namespace

Expected<std::unique_ptr<io::EthernetDevice>> EthernetSocket::open_device(
    const std::string& interface, const Gid& own, std::uint16_t port, EthernetCarries carries) {
  const auto filter = ethernet_filter(own, port, carries);
  if (!interface.starts_with(kEthernetSocketTap)) return open_packets(interface, own, filter);
  return open_tap(interface.substr(kEthernetSocketTap.size()), filter);
}

Expected<std::unique_ptr<EthernetSocket>> EthernetSocket::open(const io::SocketAddress& own,
                                                               bool needs_tcp,
                                                               const std::string& interface,
                                                               io::Reactor& reactor,
                                                               EthernetCarries carries) {
  auto device = open_device(interface, own.address, own.port, carries);
  if (!device) return tl::unexpected(device.error());
  std::unique_ptr<EthernetSocket> socket(new EthernetSocket(own, interface, std::move(*device)));
  if (auto quiet = socket->keep_kernel_quiet(needs_tcp, carries); !quiet) {
    return tl::unexpected(quiet.error());
  }
  if (auto watched = socket->watch(socket->device_->fd(), reactor); !watched) {
    return tl::unexpected(watched.error());
  }
  return socket;
}

EthernetSocket::EthernetSocket(const io::SocketAddress& own, std::string interface,
                               std::unique_ptr<io::EthernetDevice> device)
    : device_(std::move(device)),
      absence_(std::move(interface), "sites"),
      ends_{
          .local = own.address, .remote = {}, .local_port = own.port, .local_mac = device_->mac()},
      neighbours_(device_->mac(), own.address, {}, *this) {
}

// An address that the kernel has as well serves the control channel, over its TCP; it answers to
// packets that nobody has a socket for.
Expected<void> EthernetSocket::keep_kernel_quiet(bool needs_tcp, EthernetCarries carries) {
  io::UdpOptions options;
  options.local = {.address = ends_.local, .port = ends_.local_port};
  options.deaf = true;
  auto udp = io::UdpSocket::open(options);
  if (!udp && udp.error().code == std::errc::address_not_available) {
    if (!needs_tcp) return {};
    return fail(udp.error().code,
                fmt::format("keys are agreed on over TCP, for which this machine must have the "
                            "address: `ip address add {} dev {}`, with the length of its prefix; "
                            "or all must go in the clear: insecure = true, without setup = \"tcp\"",
                            io::format_address(ends_.local), absence_.interface()));
  }
  if (!udp) return tl::unexpected(udp.error());
  deaf_udp_ = std::move(*udp);
  std::vector<std::uint8_t> protocols{*wan::kFrame.ip_protocol};
  if (carries.dccp) protocols.push_back(IPPROTO_DCCP);
  for (const std::uint8_t protocol : protocols) {
    auto ip = io::RawIpSocket::open({.local = ends_.local,
                                     .ipv4 = ends_.local.is_ipv4_mapped(),
                                     .protocol = protocol,
                                     .deaf = true});
    if (ip) deaf_ip_.push_back(std::move(*ip));
  }
  return {};
}

RemotePath& EthernetSocket::add(const fabric::LabRemote& remote, [[maybe_unused]] std::size_t place,
                                Time now) {
  const auto address = address_of(remote);
  wan::Ends ends = ends_;
  ends.remote = address->address;
  ends.remote_port = address->port;
  ends.labels = remote.labels;
  ends.own_labels = remote.own_labels.empty() ? remote.labels : remote.own_labels;
  auto& path =
      *paths_.emplace_back(std::make_unique<EthernetPath>(remote, ends, *device_, neighbours_));
  watch(path);
  neighbours_.look_for(ends.remote, now);
  return path;
}

std::optional<Time> EthernetSocket::deadline() const {
  const auto look = absence_.deadline();
  const auto ask = neighbours_.deadline();
  return look && ask ? std::min(*look, *ask) : look ? look : ask;
}

bool EthernetSocket::run(Time now) {
  const auto due = deadline();
  if (!due || *due > now) return false;
  look_for_device(now);
  neighbours_.run(now);
  return true;
}

void EthernetSocket::look_for_device(Time now) {
  if (!absence_.look(*device_, now)) return;
  ends_.local_mac = device_->mac();
  neighbours_.set_own_mac(device_->mac());
  for (const auto& path : paths_)
    path->set_own_mac(device_->mac(), now);
}

void EthernetSocket::send(const wan::NeighbourFrame& frame, [[maybe_unused]] Time now) {
  const Bytes bytes = frame.bytes();
  const std::span<const Bytes> parts(&bytes, 1);
  // What is lost is asked again.
  static_cast<void>(device_->send({&parts, 1}));
}

void EthernetSocket::found(const Gid& address, Time now) {
  const auto mac = neighbours_.find(address);
  for (const auto& path : paths_) {
    if (path->address() == address) path->set_mac(mac, now);
  }
}

void EthernetSocket::receive_all(Time now) {
  for (int i = 0; i < kEthernetSocketTurn; ++i) {
    const auto frames = device_->receive();
    for (const Bytes frame : frames)
      take(frame, now);
    if (frames.size() < io::kBatch) break;
  }
  look_for_device(now);
  if (!device_->gone()) return;
  end_watch();
  absence_.give_up();
}

void EthernetSocket::take(Bytes frame, Time now) {
  if (neighbours_.receive(frame, now)) return;
  const auto path = std::ranges::find_if(
      paths_, [&](const auto& candidate) { return candidate->is_from_remote(frame); });
  if (path == paths_.end()) return counters_.add(EthernetSocketCounter::kStranger);
  if ((*path)->take(frame, now)) neighbours_.confirm((*path)->address(), now);
}

std::vector<CounterValue> EthernetSocket::counters() const {
  std::vector<CounterValue> out = counters_.snapshot();
  accumulate(out, neighbours_.counters().snapshot());
  for (const auto& path : paths_)
    accumulate(out, path->refused_counters());
  out.push_back({"ethernet_overflow", "Ethernet frames lost because they were fetched too late",
                 device_->overflows()});
  out.push_back(
      {"ethernet_refused", "Ethernet frames lost because the interface refused them", refused()});
  return out;
}

}  // namespace weft::daemon
