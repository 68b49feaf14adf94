// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/remote_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/wan/addressed_path.h"
#include "daemon/wan/wan_socket.h"
#include "wan/encapsulation/stack.h"

namespace weft::daemon {
namespace {

// What of an encapsulation is made here, and what by the kernel.
enum class Carrier : std::uint8_t {
  kUdp,       // a UDP socket: the kernel makes UDP and IP
  kIp,        // a raw socket: the kernel makes IP
  kEthernet,  // an interface: all is made here
};

bool has_layer(std::string_view encapsulation, std::string_view name) {
  for (std::string_view rest = encapsulation; !rest.empty();) {
    const std::string_view layer = rest.substr(0, rest.find('/'));
    if (layer == name) return true;
    rest.remove_prefix(std::min(layer.size() + 1, rest.size()));
  }
  return false;
}

Carrier carrier_of(const fabric::LabRemote& remote) {
  if (has_layer(remote.encapsulation, "ethernet")) return Carrier::kEthernet;
  const bool ip_alone = !remote.encapsulation.empty() && !has_layer(remote.encapsulation, "udp");
  return ip_alone ? Carrier::kIp : Carrier::kUdp;
}

tl::unexpected<Error> cannot_be(std::string_view why) {
  return fail(std::errc::invalid_argument, std::string(why));
}

// Names layers that are not there, or where they cannot be, or not between these addresses.
Expected<void> check(const fabric::LabExtender& extender, const fabric::LabRemote& remote) {
  if (remote.encapsulation.empty()) return {};
  wan::Ends ends{.local = extender.listen.host, .remote = extender.listen.host};
  if (remote.address) ends.remote = remote.address->host;
  if (ends.local.is_zero()) ends.local = ends.remote;
  const auto stack = wan::Stack::parse(remote.encapsulation, ends);
  if (!stack) return tl::unexpected(stack.error());
  const bool ethernet = has_layer(remote.encapsulation, "ethernet");
  if (!ethernet && !remote.interface.empty()) {
    return cannot_be(
        fmt::format("an interface is for encapsulations in Ethernet, and {} is none: the kernel's "
                    "routes say by which interface its packets leave",
                    remote.encapsulation));
  }
  return {};
}

}  // namespace

RemotePaths::RemotePaths(const fabric::LabExtender& extender, io::Reactor& reactor)
    : extender_(extender),
      reactor_(reactor),
      local_{.address = extender.listen.host, .port = extender.listen.port} {
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
  const std::string name =
      fmt::format("{} {}", static_cast<int>(carrier_of(remote)), remote.interface);
  auto shared = std::ranges::find(shared_, name, &Shared::name);
  if (shared == shared_.end()) {
    auto socket = open_socket(remote);
    if (!socket) return tl::unexpected(socket.error());
    shared = shared_.insert(shared_.end(), {.name = name, .socket = std::move(*socket)});
  }
  of_remotes_.push_back(static_cast<std::size_t>(shared - shared_.begin()));
  return {};
}

Expected<std::unique_ptr<PathSocket>> RemotePaths::open_socket(const fabric::LabRemote& remote) {
  if (carrier_of(remote) != Carrier::kUdp) {
    return fail(std::errc::not_supported,
                fmt::format("{}: there is no way for it yet", remote.encapsulation));
  }
  auto socket = WanSocket::open(local_, reactor_);
  if (!socket) return tl::unexpected(socket.error());
  local_ = (*socket)->local();
  return std::unique_ptr<PathSocket>(std::move(*socket));
}

void RemotePaths::set_landing(wan::Landing& landing) {
  for (const Shared& shared : shared_)
    shared.socket->set_landing(landing);
}

RemotePath& RemotePaths::add(std::size_t remote, Time now) {
  return shared_[of_remotes_[remote]].socket->add(extender_.remotes[remote], now);
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
