// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/addressed_path.h"

#include <algorithm>

#include "io/route.h"
#include "wan/frame.h"
#include "wire/ip.h"

namespace weft::daemon {

std::optional<io::SocketAddress> address_of(const fabric::LabRemote& remote) {
  if (!remote.address) return std::nullopt;
  return io::SocketAddress{.address = remote.address->host, .port = remote.address->port};
}

std::vector<io::SocketAddress> more_addresses_of(const fabric::LabRemote& remote) {
  std::vector<io::SocketAddress> out;
  for (const fabric::PartAddress& address : remote.more_addresses)
    out.push_back({.address = address.host, .port = address.port});
  return out;
}

std::size_t frame_that_fits(const io::SocketAddress& remote, std::size_t headers) {
  // Where there is no route yet, what every IPv6 link carries (RFC 8200, 5).
  const std::size_t mtu = io::routed_mtu(remote).value_or(1280);
  headers += remote.is_ipv4() ? wire::kIpv4HeaderSize : wire::kIpv6HeaderSize;
  return std::clamp(mtu - std::min(mtu, headers), wan::kLeastFrame, wan::kLongestFrame);
}

void AddressedPath::set_remote(const io::SocketAddress& remote, Time now) {
  remote_ = remote;
  moved();
  changed(now);
}

AddressedPath* PathsByAddress::find(const io::SocketAddress& source) const {
  const auto from = std::ranges::find_if(paths_, [&](const auto* path) {
    const auto& remote = path->remote();
    return remote && remote->address == source.address && (!ports_ || remote->port == source.port);
  });
  return from == paths_.end() ? nullptr : *from;
}

AddressedPath* PathsByAddress::find_for_stranger(const io::SocketAddress& source, Bytes frame,
                                                 Time now) const {
  const auto claimed =
      std::ranges::find_if(paths_, [&](const auto* path) { return path->claims(frame); });
  if (claimed != paths_.end()) return *claimed;
  const auto open = std::ranges::find_if(
      paths_, [&](const auto* path) { return path->takes_stranger(source.address); });
  if (open == paths_.end()) return nullptr;
  (*open)->set_remote(source, now);
  return *open;
}

bool PathsByAddress::receive(AddressedPath* known, const io::SocketAddress& source, Bytes frame,
                             Time now, bool marked) const {
  if (known != nullptr && !known->may_still_be_at(source.address)) known = nullptr;
  AddressedPath* from = known;
  if (known == nullptr || !known->owns(frame)) {
    AddressedPath* const other = find_for_stranger(source, frame, now);
    if (other != nullptr) from = other;
  }
  if (from == nullptr) return false;
  if (from->receive(frame, now, marked) && from != known) from->set_remote(source, now);
  return true;
}

}  // namespace weft::daemon
