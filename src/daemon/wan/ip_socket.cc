// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/ip_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/socket_address.h"
#include "wan/encapsulation/options_layer.h"
#include "wan/frame.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

constexpr int kIpSocketTurn = 4;  // batches that are received before others get their turn
constexpr std::size_t kIpSocketWantedBuffer = std::size_t{64} << 20;  // as of UDP

// How many of the first ones have the same header; options are each frame's own.
std::size_t of_one_kind(std::span<const wan::OutFrame> frames) {
  if (!frames.front().options.empty()) return 1;
  const auto differs = std::ranges::find_if(frames, [&](const wan::OutFrame& frame) {
    return frame.traffic_class != frames.front().traffic_class || !frame.options.empty();
  });
  return static_cast<std::size_t>(differs - frames.begin());
}

}  // namespace

IpPath::IpPath(const std::optional<io::SocketAddress>& remote, io::RawIpSocket& socket)
    : AddressedPath(remote),
      socket_(socket),
      longest_frame_(remote ? frame_that_fits(*remote, 0) : wan::kLeastFrame) {
}

std::size_t IpPath::transmit(Frames frames, Time now) {
  payloads_.clear();
  for (const wan::OutFrame& frame : frames)
    payloads_.push_back(frame.parts);
  std::size_t done = 0;
  while (done < frames.size()) {
    const std::size_t run = of_one_kind(frames.subspan(done));
    const OptionsHeader options(frames[done].options);
    const auto sent = socket_.send(*remote(), io::Datagrams(payloads_).subspan(done, run),
                                   marked_capable(frames[done].traffic_class), options.bytes());
    done += sent.count;
    if (sent.count == run) continue;
    if (sent.error == std::errc{}) break;
    // One that is lost keeps none behind it.
    refuse(1);
    ++done;
    if (sent.error == std::errc::message_size) look_at_mtu(now);
  }
  return done;
}

void IpPath::look_at_mtu(Time now) {
  if (!remote()) return;
  const std::size_t fits = frame_that_fits(*remote(), 0);
  if (fits == longest_frame_) return;
  longest_frame_ = fits;
  changed(now);
}

Expected<std::unique_ptr<IpSocket>> IpSocket::open(const Gid& own, bool ipv4, io::Reactor& reactor,
                                                   bool options, std::uint8_t protocol) {
  auto socket = io::RawIpSocket::open({.local = own,
                                       .ipv4 = ipv4,
                                       .protocol = protocol,
                                       .buffer = kIpSocketWantedBuffer,
                                       .destination_options = options});
  if (!socket) {
    const Error& error = socket.error();
    if (error.code == std::errc::operation_not_permitted) {
      return fail(error.code,
                  fmt::format("{}: the capability CAP_NET_RAW is missing, without which the kernel "
                              "lets nobody make IP packets of his own; encapsulation "
                              "= \"udp/{}\" needs none",
                              error.message, ipv4 ? "ipv4" : "ipv6"));
    }
    return fail(error.code,
                fmt::format("{}: it must be an address of this machine", error.message));
  }
  std::unique_ptr<IpSocket> ip(new IpSocket(std::move(*socket)));
  if (auto watched = ip->watch(ip->socket_.fd(), reactor); !watched) {
    return tl::unexpected(watched.error());
  }
  return ip;
}

IpPath& IpSocket::add(const std::optional<io::SocketAddress>& remote) {
  IpPath& path = *paths_.emplace_back(std::make_unique<IpPath>(remote, socket_));
  by_address_.add(path);
  share_receive_room(socket_.granted_receive_buffer(), paths_);
  watch(path);
  return path;
}

RemotePath& IpSocket::add(const fabric::LabRemote& remote, [[maybe_unused]] std::size_t place,
                          [[maybe_unused]] Time now) {
  IpPath& path = add(address_of(remote));
  if (has_options(remote)) path.carry_options();
  return path;
}

void IpSocket::receive(const io::RawIpSocket::Received& packet, Time now) {
  RemotePath::Beside beside;
  beside.marked = (packet.tos & wire::kEcnBits) == wire::kCongestionExperienced;
  if (!packet.destination_options.empty()) {
    const auto options = wan::OptionsLayer::read(packet.destination_options);
    if (!options) return counters_.add(IpSocketCounter::kOption);
    beside.options = *options;
  }
  AddressedPath* const known = by_address_.find(packet.source);
  if (!by_address_.receive(known, packet.source, packet.payload, now, beside)) {
    counters_.add(IpSocketCounter::kStranger);
  }
}

void IpSocket::receive_all(Time now) {
  for (int i = 0; i < kIpSocketTurn; ++i) {
    const auto packets = socket_.receive();
    for (const io::RawIpSocket::Received& packet : packets)
      receive(packet, now);
    if (packets.size() < io::kBatch) break;
  }
  if (!socket_.take_trouble()) return;
  for (const auto& path : paths_)
    path->look_at_mtu(now);
}

std::vector<CounterValue> IpSocket::counters() const {
  std::vector<CounterValue> out = counters_.snapshot();
  out.push_back(
      {"ip_overflow", "IP packets lost because the socket's buffer was full", socket_.overflows()});
  out.push_back({"ip_refused", "IP packets lost because the socket refused them", refused()});
  return out;
}

}  // namespace weft::daemon
