// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/wan_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wan/encapsulation/options_layer.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

// So many system calls, or bytes, before others get their turn: what has come is to be dealt with
// while it is in the cache.
constexpr int kWanSocketTurn = 32;
constexpr std::size_t kTurnBytes = std::size_t{128} << 10;
static_assert(wan::Landing::kRoom >= io::kUdpReceiveBuffer);
// What a WAN brings while nobody takes it: of 1 Gbit/s for half a second, on a machine that has
// other things to do. What does not fit is lost, and comes again a round trip later.
constexpr std::size_t kWanSocketWantedBuffer = std::size_t{64} << 20;

}  // namespace

Expected<std::unique_ptr<WanSocket>> WanSocket::open(const std::vector<io::SocketAddress>& own,
                                                     io::Reactor& reactor, bool options) {
  std::unique_ptr<WanSocket> wan(new WanSocket);
  wan->sockets_.reserve(own.size());
  for (const io::SocketAddress& address : own) {
    // Only IPv6 has options; where all is IPv4, that is the error.
    const bool with_options = options && (!address.is_ipv4() || own.size() == 1);
    if (auto opened = wan->open_socket(address, reactor, with_options); !opened) {
      return tl::unexpected(opened.error());
    }
  }
  wan->overflows_.resize(own.size());
  return wan;
}

Expected<void> WanSocket::open_socket(const io::SocketAddress& own, io::Reactor& reactor,
                                      bool with_options) {
  io::UdpOptions options;
  options.local = own;
  options.tell_destination = false;
  options.receive_buffer = kWanSocketWantedBuffer;
  options.send_buffer = kWanSocketWantedBuffer;
  auto socket = io::UdpSocket::open(options);
  if (!socket) {
    return fail(socket.error().code, fmt::format("{}: {}: it must be an address of this machine "
                                                 "and a UDP port that nobody has",
                                                 own.to_string(), socket.error().message));
  }
  if (with_options) {
    if (auto used = use_options(*socket); !used) return used;
  }
  if (auto watched = watch(socket->fd(), reactor); !watched) return watched;
  sockets_.push_back(std::move(*socket));
  return {};
}

Expected<void> WanSocket::use_options(const io::UdpSocket& socket) {
  options_.resize(io::kMostDestinationOptions);
  auto used = io::use_destination_options(socket.fd());
  if (used || used.error().code != std::errc::operation_not_permitted) return used;
  return fail(
      used.error().code,
      fmt::format("{}: the capability CAP_NET_RAW is missing, without which the kernel lets "
                  "nobody send IPv6 options; encapsulation = \"udp/ipv6\" needs none, and "
                  "has credit within frames",
                  used.error().message));
}

UdpPath& WanSocket::add(const std::optional<io::SocketAddress>& remote, std::size_t place) {
  UdpPath& path = *paths_.emplace_back(std::make_unique<UdpPath>(remote, sockets_, place));
  by_address_.add(path);
  // Whichever of the sockets they come by.
  share_receive_room(sockets_.front().granted_receive_buffer(), paths_);
  watch(path);
  return path;
}

RemotePath& WanSocket::add(const fabric::LabRemote& remote, std::size_t place,
                           [[maybe_unused]] Time now) {
  UdpPath& path = add(address_of(remote), place);
  if (has_options(remote)) path.carry_options();
  return path;
}

void WanSocket::receive_all(Time now) {
  for (std::size_t place = 0; place < sockets_.size(); ++place)
    receive_some(place, now);
}

void WanSocket::receive_some(std::size_t place, Time now) {
  io::ReceivedDatagram datagram;
  std::size_t bytes = 0;
  for (int i = 0; i < kWanSocketTurn && bytes < kTurnBytes; ++i) {
    const MutableBytes landing = landing_ != nullptr ? landing_->room() : MutableBytes();
    const MutableBytes room = landing.empty() ? MutableBytes(buffer_) : landing;
    MutableBytes options = options_;
    const io::IoResult result = io::receive_with_options(sockets_[place], room, datagram, options);
    if (result.status != io::IoStatus::kDone) return;
    if (landing_ != nullptr && !landing.empty()) landing_->landed(result.bytes);
    bytes += result.bytes;
    counters_.add(WanSocketCounter::kOverflow, datagram.overflows - overflows_[place]);
    overflows_[place] = datagram.overflows;
    receive(datagram, place, room.first(result.bytes), options, now);
  }
}

void WanSocket::receive(const io::ReceivedDatagram& datagram, std::size_t place, Bytes bytes,
                        Bytes header, Time now) {
  const std::size_t segment = datagram.segment_size != 0 ? datagram.segment_size : bytes.size();
  AddressedPath* const known = by_address_.find(datagram.source, place);
  RemotePath::Beside beside{.marked =
                                (datagram.tos & wire::kEcnBits) == wire::kCongestionExperienced};
  if (!header.empty()) {
    const auto options = wan::OptionsLayer::read(header);
    if (!options) return counters_.add(WanSocketCounter::kOption);
    beside.options = *options;
  }
  do {
    const Bytes frame = bytes.first(std::min(segment, bytes.size()));
    bytes = bytes.subspan(frame.size());
    if (!by_address_.receive(known, datagram.source, frame, now, beside, place)) {
      counters_.add(WanSocketCounter::kStranger);
    }
  } while (!bytes.empty());
}

std::vector<CounterValue> WanSocket::counters() const {
  std::vector<CounterValue> out = counters_.snapshot();
  out.push_back({"udp_refused", "datagrams lost because the socket refused them", refused()});
  return out;
}

}  // namespace weft::daemon
