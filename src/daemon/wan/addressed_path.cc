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

std::vector<io::SocketAddress> listens_of(const fabric::LabExtender& extender) {
  std::vector<io::SocketAddress> out{
      {.address = extender.listen.host, .port = extender.listen.port}};
  for (const fabric::PartAddress& listen : extender.more_listens)
    out.push_back({.address = listen.host, .port = listen.port});
  return out;
}

std::size_t listen_for(const fabric::LabExtender& extender, const fabric::LabRemote& remote,
                       std::size_t way) {
  const auto listens = listens_of(extender);
  const bool needs_ipv4 =
      remote.address ? remote.address->host.is_ipv4_mapped() : has_layer(remote, "ipv4");
  const bool needs_ipv6 = remote.address ? !needs_ipv4 : has_layer(remote, "ipv6");
  const auto leads_there = [&](const io::SocketAddress& listen) {
    return listen.address.is_zero() || (listen.is_ipv4() ? !needs_ipv6 : !needs_ipv4);
  };
  if (way < listens.size() && leads_there(listens[way])) return way;
  const auto first = std::ranges::find_if(listens, leads_there);
  return first == listens.end() ? 0 : static_cast<std::size_t>(first - listens.begin());
}

void AddressedPath::set_remote(const io::SocketAddress& remote, std::size_t place, Time now) {
  remote_ = remote;
  place_ = place;
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

AddressedPath* PathsByAddress::find(const io::SocketAddress& source, std::size_t place) const {
  const auto from = std::ranges::find_if(paths_, [&](const auto* path) {
    const auto& remote = path->remote();
    return remote && remote->address == source.address &&
           (!ports_ || remote->port == source.port) && path->comes_by(place);
  });
  return from == paths_.end() ? nullptr : *from;
}

AddressedPath* PathsByAddress::find_for_stranger(const io::SocketAddress& source, Bytes frame,
                                                 std::size_t place, Time now) const {
  const auto claimed =
      std::ranges::find_if(paths_, [&](const auto* path) { return path->claims(frame); });
  if (claimed != paths_.end()) return *claimed;
  const auto open = std::ranges::find_if(
      paths_, [&](const auto* path) { return path->takes_stranger(source.address); });
  if (open == paths_.end()) return nullptr;
  (*open)->set_remote(source, place, now);
  return *open;
}

bool PathsByAddress::receive(AddressedPath* known, const io::SocketAddress& source, Bytes frame,
                             Time now, const RemotePath::Beside& beside, std::size_t place) const {
  if (known != nullptr && !known->may_still_be_at(source.address)) known = nullptr;
  AddressedPath* from = known;
  if (known == nullptr || !known->owns(frame)) {
    AddressedPath* const other = find_for_stranger(source, frame, place, now);
    if (other != nullptr) from = other;
  }
  if (from == nullptr) return false;
  if (from->receive(frame, now, beside) && from != known) from->set_remote(source, place, now);
  return true;
}

}  // namespace weft::daemon
