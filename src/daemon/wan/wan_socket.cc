// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/wan_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/ip.h"

namespace weft::daemon {
namespace {

// So many system calls, or bytes, before others get their turn: what has come is to be dealt with
// while it is in the cache.
constexpr int kTurn = 32;
constexpr std::size_t kTurnBytes = std::size_t{128} << 10;
static_assert(wan::Landing::kRoom >= io::kUdpReceiveBuffer);
// What the kernel may take of the buffer for a byte that waits there: drivers give short datagrams
// memory of several times their length.
constexpr std::size_t kBufferPerByte = 4;
// What a WAN brings in one burst; what does not fit is lost, and comes again a round trip later.
constexpr std::size_t kWantedBuffer = std::size_t{16} << 20;

}  // namespace

WanSocket::WanSocket(io::UdpSocket socket)
    : socket_(std::move(socket)), buffer_(io::kUdpReceiveBuffer) {
}

Expected<std::unique_ptr<WanSocket>> WanSocket::open(const io::SocketAddress& own,
                                                     io::Reactor& reactor) {
  io::UdpOptions options;
  options.local = own;
  options.tell_destination = false;
  options.receive_buffer = kWantedBuffer;
  options.send_buffer = kWantedBuffer;
  auto socket = io::UdpSocket::open(options);
  if (!socket) {
    return fail(socket.error().code, fmt::format("{}: {}: it must be an address of this machine "
                                                 "and a UDP port that nobody has",
                                                 own.to_string(), socket.error().message));
  }
  std::unique_ptr<WanSocket> wan(new WanSocket(std::move(*socket)));
  if (auto watched = wan->watch(wan->socket_.fd(), reactor); !watched) {
    return tl::unexpected(watched.error());
  }
  return wan;
}

UdpPath& WanSocket::add(const std::optional<io::SocketAddress>& remote) {
  UdpPath& path = *paths_.emplace_back(std::make_unique<UdpPath>(remote, socket_));
  by_address_.add(path);
  const std::size_t room = socket_.granted_receive_buffer() / kBufferPerByte / paths_.size();
  for (const auto& each : paths_)
    each->set_receive_room(static_cast<std::uint32_t>(std::min<std::size_t>(room, UINT32_MAX)));
  watch(path);
  return path;
}

RemotePath& WanSocket::add(const fabric::LabRemote& remote, [[maybe_unused]] Time now) {
  return add(address_of(remote));
}

void WanSocket::receive_all(Time now) {
  io::ReceivedDatagram datagram;
  std::size_t bytes = 0;
  for (int i = 0; i < kTurn && bytes < kTurnBytes; ++i) {
    const MutableBytes landing = landing_ != nullptr ? landing_->room() : MutableBytes();
    const MutableBytes room = landing.empty() ? MutableBytes(buffer_) : landing;
    const io::IoResult result = socket_.receive(room, datagram);
    if (result.status != io::IoStatus::kDone) return;
    if (landing_ != nullptr && !landing.empty()) landing_->landed(result.bytes);
    bytes += result.bytes;
    counters_.add(WanSocketCounter::kOverflow, datagram.overflows - overflows_);
    overflows_ = datagram.overflows;
    receive(datagram, room.first(result.bytes), now);
  }
}

void WanSocket::receive(const io::ReceivedDatagram& datagram, Bytes bytes, Time now) {
  const std::size_t segment = datagram.segment_size != 0 ? datagram.segment_size : bytes.size();
  AddressedPath* const known = by_address_.find(datagram.source);
  const bool marked = (datagram.tos & wire::kEcnBits) == wire::kCongestionExperienced;
  do {
    const Bytes frame = bytes.first(std::min(segment, bytes.size()));
    bytes = bytes.subspan(frame.size());
    if (!by_address_.receive(known, datagram.source, frame, now, marked)) {
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
