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

bool has_layer(const fabric::LabRemote& remote, std::string_view name) {
  for (std::string_view rest = remote.encapsulation; !rest.empty();) {
    const std::string_view layer = rest.substr(0, rest.find('/'));
    if (layer == name) return true;
    rest.remove_prefix(std::min(layer.size() + 1, rest.size()));
  }
  return false;
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

OptionsHeader::OptionsHeader(Bytes options)
    : size_(wan::OptionsLayer::header_size(options.size())) {
  static_assert(wan::OptionsLayer::header_size(wan::OutPacket::kMostOptions) <=
                io::kMostDestinationOptions);
  // What follows it, the kernel knows.
  if (size_ != 0) wan::OptionsLayer::write(options, 0, MutableBytes(bytes_).first(size_));
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
                             Time now, const RemotePath::Beside& beside) const {
  if (known != nullptr && !known->may_still_be_at(source.address)) known = nullptr;
  AddressedPath* from = known;
  if (known == nullptr || !known->owns(frame)) {
    AddressedPath* const other = find_for_stranger(source, frame, now);
    if (other != nullptr) from = other;
  }
  if (from == nullptr) return false;
  if (from->receive(frame, now, beside) && from != known) from->set_remote(source, now);
  return true;
}

}  // namespace weft::daemon
