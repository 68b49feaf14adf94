// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/remote_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/wan/addressed_path.h"
#include "daemon/wan/ethernet_socket.h"
#include "daemon/wan/ip_socket.h"
#include "daemon/wan/line_socket.h"
#include "daemon/wan/wan_socket.h"
#include "wan/encapsulation/stack.h"
#include "wan/line/stack/line_stack.h"

namespace weft::daemon {
namespace {

// What of an encapsulation is made here, and what by the kernel.
enum class Carrier : std::uint8_t {
  kUdp,       // a UDP socket: the kernel makes UDP and IP
  kIp,        // a raw socket: the kernel makes IP
  kEthernet,  // an interface: all is made here
  kLine,      // a stream of octets: all is made here
};

// Whether frames lie in Ethernet without IP around them.
bool without_ip(const fabric::LabRemote& remote) {
  return has_layer(remote, "ethernet") && !has_layer(remote, "ipv4") && !has_layer(remote, "ipv6");
}

// The version that an encapsulation in IP names.
bool is_ipv4(const fabric::LabRemote& remote) {
  return has_layer(remote, "ipv4");
}

Carrier carrier_of(const fabric::LabRemote& remote) {
  if (wan::LineStack::is_one(remote.encapsulation)) return Carrier::kLine;
  if (has_layer(remote, "ethernet")) return Carrier::kEthernet;
  const bool ip_alone = !remote.encapsulation.empty() && !has_layer(remote, "udp");
  return ip_alone ? Carrier::kIp : Carrier::kUdp;
}

// What is in IP, or what else is outermost.
wan::Carried carried_by(const fabric::LabRemote& remote) {
  return has_layer(remote, "dccp") ? wan::kDccp : wan::kFrame;
}

// Whether any of those that may share such a socket has a layer.
bool any_has(const fabric::LabExtender& extender, Carrier carrier, std::string_view layer) {
  return std::ranges::any_of(extender.remotes, [&](const fabric::LabRemote& remote) {
    return carrier_of(remote) == carrier && has_layer(remote, layer);
  });
}

tl::unexpected<Error> cannot_be(std::string_view why) {
  return fail(std::errc::invalid_argument, std::string(why));
}

// What the layers of a remote are between, as far as that is known.
wan::Ends ends_of(const fabric::LabExtender& extender, const fabric::LabRemote& remote) {
  const io::SocketAddress local = listens_of(extender)[listen_for(extender, remote, 0)];
  wan::Ends ends{.local = local.address, .remote = local.address, .local_port = local.port};
  if (remote.address) {
    ends.remote = remote.address->host;
    ends.remote_port = remote.address->port;
  }
  ends.labels = remote.labels;
  ends.own_labels = remote.own_labels.empty() ? remote.labels : remote.own_labels;
  if (ends.local.is_zero()) ends.local = ends.remote;
  return ends;
}

// Names layers that are not there, or where they cannot be, or not between these addresses.
Expected<void> check_layers(const fabric::LabExtender& extender, const fabric::LabRemote& remote) {
  const auto stack = wan::Stack::parse(remote.encapsulation, ends_of(extender, remote));
  if (!stack) return tl::unexpected(stack.error());
  return {};
}

Expected<void> check_ethernet(const fabric::LabExtender& extender,
                              const fabric::LabRemote& remote) {
  const std::string& encapsulation = remote.encapsulation;
  if (remote.interface.empty()) {
    return cannot_be(
        fmt::format("{}: say by which interface, as in interface = \"eth1\", or "
                    "\"tap:NAME\" for a TAP interface that is made",
                    encapsulation));
  }
  const Gid local = listens_of(extender)[listen_for(extender, remote, 0)].address;
  if (!remote.address || local.is_zero() ||
      remote.address->host.is_ipv4_mapped() != local.is_ipv4_mapped()) {
    return cannot_be(
        fmt::format("{}: both ends need IP addresses of one version, by which they "
                    "find each other on the Ethernet: address here, and a listen "
                    "that is not that of any address",
                    encapsulation));
  }
  if (remote.dscp && without_ip(remote) && !has_layer(remote, "mpls")) {
    return cannot_be("ethernet: dscp is in the header of IP, and here is none: leave it out");
  }
  const bool is_tap = remote.interface.starts_with("tap:");
  if (extender.tcp_setup && (is_tap || without_ip(remote))) {
    return cannot_be("the kernel's TCP does not get there: leave out setup = \"tcp\"");
  }
  if (extender.insecure) return {};
  if (without_ip(remote)) {
    return cannot_be(
        fmt::format("{}: without IP there is no TCP, over which keys would be agreed on, so that "
                    "nothing can be sealed: say udp/ipv6/{}, or insecure = true of the extender",
                    encapsulation, encapsulation));
  }
  if (is_tap) {
    return cannot_be(
        fmt::format("{}: the kernel's TCP, over which keys would be agreed on, is at "
                    "the other end of a TAP interface, so that nothing can be sealed: "
                    "say an interface of this machine, or insecure = true",
                    remote.interface));
  }
  return {};
}

// Its checksum covers the addresses of both ends, which the kernel must not choose, and no address
// translation; and the one with the smaller address calls the other.
Expected<void> check_dccp(const fabric::LabExtender& extender, const fabric::LabRemote& remote) {
  for (std::size_t way = 0; way < remote.paths; ++way) {
    fabric::LabRemote by = remote;
    if (way != 0 && by.address) by.address = remote.more_addresses[way - 1];
    const io::SocketAddress local = listens_of(extender)[listen_for(extender, by, way)];
    if (by.address && !local.address.is_zero() && local.port != 0) continue;
    return cannot_be(
        fmt::format("{}: both ends need to know where the other is: address here, and a listen "
                    "that is not that of any address and has a port",
                    remote.encapsulation));
  }
  return {};
}

Expected<void> check_line(const fabric::LabExtender& extender, const fabric::LabRemote& remote) {
  const bool line = carrier_of(remote) == Carrier::kLine;
  if (line && remote.line.empty()) {
    return cannot_be(
        fmt::format("{}: say which stream bears the line, as in line = \"unix:/run/line\"",
                    remote.encapsulation));
  }
  if (!line && !remote.line.empty()) {
    return cannot_be(fmt::format(
        "{}: ends in no line, which line = \"{}\" is for: say what that is, as in {}/ppp/stm64",
        remote.encapsulation, remote.line, remote.encapsulation));
  }
  if (!line) return {};
  const auto stack = wan::LineStack::parse(remote.encapsulation);
  if (!stack) return tl::unexpected(stack.error());
  // Those of Ethernet follow from them.
  const bool addressed =
      has_layer(remote, "ipv6") || has_layer(remote, "ipv4") || has_layer(remote, "ethernet");
  const Gid local = listens_of(extender)[listen_for(extender, remote, 0)].address;
  if (addressed && (!remote.address || local.is_zero())) {
    return cannot_be(
        fmt::format("{}: both ends need IP addresses: address here, and a listen that is not that "
                    "of any address",
                    remote.encapsulation));
  }
  return {};
}

// Where frames have no ports, remotes are told apart by their addresses alone.
Expected<void> check_alone(const fabric::LabExtender& extender, const fabric::LabRemote& remote) {
  if (!remote.address) return {};
  for (const fabric::LabRemote& other : extender.remotes) {
    if (&other == &remote) return {};
    if (!other.address || other.address->host != remote.address->host) continue;
    if (carrier_of(other) == Carrier::kUdp) continue;
    return cannot_be(
        fmt::format("{} is the address of remote {} too, and without UDP there are no "
                    "ports to tell them apart",
                    io::format_address(remote.address->host), other.name));
  }
  return {};
}

Expected<void> check(const fabric::LabExtender& extender, const fabric::LabRemote& remote) {
  const Carrier carrier = carrier_of(remote);
  if (carrier != Carrier::kEthernet && !remote.interface.empty()) {
    return cannot_be(
        "an interface is for encapsulations in ethernet; otherwise the kernel's routes say by "
        "which "
        "one packets leave");
  }
  if (!has_layer(remote, "mpls") && !(remote.labels.empty() && remote.own_labels.empty())) {
    return cannot_be("labels are for encapsulations with mpls, as in \"ipv6/mpls/ethernet\"");
  }
  if (has_layer(remote, "mpls") && remote.labels.empty()) {
    return cannot_be(
        fmt::format("{}: say with which MPLS labels packets get there, as in labels = [100016]",
                    remote.encapsulation));
  }
  if (remote.encapsulation.empty()) return {};
  if (auto checked = check_line(extender, remote); !checked) return checked;
  if (carrier != Carrier::kLine) {
    if (auto checked = check_layers(extender, remote); !checked) return checked;
  }
  if (carrier == Carrier::kEthernet) {
    if (auto checked = check_ethernet(extender, remote); !checked) return checked;
  }
  if (has_layer(remote, "dccp")) {
    if (auto checked = check_dccp(extender, remote); !checked) return checked;
  }
  const bool alone = carrier == Carrier::kIp || carrier == Carrier::kEthernet;
  return alone ? check_alone(extender, remote) : Expected<void>{};
}

}  // namespace

RemotePaths::RemotePaths(const fabric::LabExtender& extender, io::Reactor& reactor)
    : extender_(extender), reactor_(reactor), locals_(listens_of(extender)) {
}

Expected<std::unique_ptr<RemotePaths>> RemotePaths::open(const fabric::LabExtender& extender,
                                                         io::Reactor& reactor) {
  std::unique_ptr<RemotePaths> paths(new RemotePaths(extender, reactor));
  for (const fabric::LabRemote& remote : extender.remotes) {
    if (auto opened = paths->open_remote(remote); !opened) {
      return fail(opened.error().code,
                  fmt::format("remote {}: {}", remote.name, opened.error().message));
    }
  }
  return paths;
}

Expected<void> RemotePaths::open_remote(const fabric::LabRemote& remote) {
  if (auto checked = check(extender_, remote); !checked) return checked;
  const Carrier carrier = carrier_of(remote);
  // UDP sockets are shared by all, wherever they listen.
  const std::size_t place = carrier == Carrier::kUdp ? 0 : listen_for(extender_, remote, 0);
  const bool ip = carrier == Carrier::kIp;
  const std::string name =
      fmt::format("{} {} {} {} {}", static_cast<int>(carrier), remote.interface, place,
                  ip && is_ipv4(remote) ? 4 : 6, ip && has_layer(remote, "dccp") ? "dccp" : "");
  auto shared = std::ranges::find(shared_, name, &Shared::name);
  if (shared == shared_.end()) {
    auto socket = open_socket(remote);
    if (!socket) return tl::unexpected(socket.error());
    shared = shared_.insert(shared_.end(), {.name = name, .socket = std::move(*socket)});
  }
  if (carrier == Carrier::kLine) {
    auto& lines = static_cast<LineSocket&>(*shared->socket);
    if (auto opened = lines.open(remote, ends_of(extender_, remote)); !opened) return opened;
  }
  of_remotes_.push_back(static_cast<std::size_t>(shared - shared_.begin()));
  return {};
}

namespace {

template <class Socket>
Expected<std::unique_ptr<PathSocket>> as_paths(Expected<std::unique_ptr<Socket>> socket) {
  if (!socket) return tl::unexpected(socket.error());
  return std::unique_ptr<PathSocket>(std::move(*socket));
}

}  // namespace

Expected<std::unique_ptr<PathSocket>> RemotePaths::open_socket(const fabric::LabRemote& remote) {
  const io::SocketAddress& local = locals_[listen_for(extender_, remote, 0)];
  switch (carrier_of(remote)) {
    case Carrier::kEthernet:
      return as_paths(
          EthernetSocket::open(local, extender_.needs_tcp(), remote.interface, reactor_,
                               {.mpls = any_has(extender_, Carrier::kEthernet, "mpls"),
                                .dccp = any_has(extender_, Carrier::kEthernet, "dccp")}));
    case Carrier::kIp:
      return as_paths(
          IpSocket::open(local.address, is_ipv4(remote), reactor_,
                         !is_ipv4(remote) && any_has(extender_, Carrier::kIp, "options"),
                         *carried_by(remote).ip_protocol));
    case Carrier::kLine:
      return std::make_unique<LineSocket>(reactor_);
    case Carrier::kUdp:
      break;
  }
  auto socket = WanSocket::open(locals_, reactor_, any_has(extender_, Carrier::kUdp, "options"));
  if (!socket) return tl::unexpected(socket.error());
  for (std::size_t place = 0; place < locals_.size(); ++place)
    locals_[place] = (*socket)->local(place);
  return std::unique_ptr<PathSocket>(std::move(*socket));
}

void RemotePaths::set_landing(wan::Landing& landing) {
  for (const Shared& shared : shared_)
    shared.socket->set_landing(landing);
}

std::vector<RemotePath*> RemotePaths::add(std::size_t remote, Time now) {
  PathSocket& socket = *shared_[of_remotes_[remote]].socket;
  fabric::LabRemote by = extender_.remotes[remote];
  std::vector<RemotePath*> out{&socket.add(by, listen_for(extender_, by, 0), now)};
  while (out.size() < extender_.remotes[remote].paths) {
    const std::size_t way = out.size();
    if (by.address) by.address = extender_.remotes[remote].more_addresses[way - 1];
    out.push_back(&socket.add(by, listen_for(extender_, by, way), now));
  }
  return out;
}

void RemotePaths::close() {
  for (const Shared& shared : shared_)
    shared.socket->close();
}

void RemotePaths::watch_for_room() {
  for (const Shared& shared : shared_)
    shared.socket->watch_for_room();
}

bool RemotePaths::run(Time now) {
  bool worked = false;
  for (const Shared& shared : shared_)
    worked |= shared.socket->run(now);
  return worked;
}

std::optional<Time> RemotePaths::deadline() const {
  std::optional<Time> first;
  for (const Shared& shared : shared_) {
    const auto when = shared.socket->deadline();
    if (when && (!first || *when < *first)) first = when;
  }
  return first;
}

std::vector<CounterValue> RemotePaths::counters() const {
  std::vector<CounterValue> out;
  for (const Shared& shared : shared_)
    accumulate(out, shared.socket->counters());
  return out;
}

}  // namespace weft::daemon
