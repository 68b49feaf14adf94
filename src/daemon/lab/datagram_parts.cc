// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/datagram_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {
namespace {

// So many system calls before others get their turn.
constexpr int kDatagramPartsTurn = 32;
// Bursts of several links come at once; what does not fit is lost to all of them.
constexpr std::size_t kDatagramPartsWantedBuffer = std::size_t{4} << 20;

io::SocketAddress socket_address(const fabric::PartAddress& address) {
  return {.address = address.host, .port = address.port};
}

}  // namespace

DatagramParts::DatagramParts(io::UdpSocket socket)
    : socket_(std::move(socket)), buffer_(io::kUdpReceiveBuffer) {
}

Expected<std::unique_ptr<DatagramParts>> DatagramParts::open(const fabric::PartAddress& own,
                                                             io::Reactor& reactor) {
  io::UdpOptions options;
  options.local = socket_address(own);
  options.tell_destination = false;
  options.tell_overflows = false;
  options.receive_buffer = kDatagramPartsWantedBuffer;
  options.send_buffer = kDatagramPartsWantedBuffer;
  auto socket = io::UdpSocket::open(options);
  if (!socket) {
    return fail(socket.error().code, fmt::format("the part's address {}: {}",
                                                 fabric::to_string(own), socket.error().message));
  }
  // A packet of the fabric may be longer than one of the network.
  socket->allow_fragments();
  std::unique_ptr<DatagramParts> parts(new DatagramParts(std::move(*socket)));
  auto watch = reactor.watch(parts->socket_.fd(), EPOLLIN,
                             [raw = parts.get()](std::uint32_t events) { raw->on_ready(events); });
  if (!watch) return tl::unexpected(watch.error());
  parts->watch_ = std::move(*watch);
  parts->reactor_ = &reactor;
  return parts;
}

DatagramPart& DatagramParts::add(const std::string& name, const fabric::PartAddress& address) {
  return *parts_.emplace_back(
      std::make_unique<DatagramPart>(name, socket_address(address), socket_));
}

void DatagramParts::on_ready(std::uint32_t events) {
  const Time now = io::now();
  if ((events & EPOLLOUT) != 0) {
    for (const auto& part : parts_) {
      if (part->is_blocked()) part->flush_blocked(now);
    }
    watch_for_room();
  }
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) receive_all(now);
}

void DatagramParts::receive_all(Time now) {
  io::ReceivedDatagram datagram;
  for (int i = 0; i < kDatagramPartsTurn; ++i) {
    const io::IoResult result = socket_.receive(buffer_, datagram);
    if (result.status != io::IoStatus::kDone) return;
    Bytes rest = Bytes(buffer_).first(result.bytes);
    const std::size_t segment = datagram.segment_size != 0 ? datagram.segment_size : rest.size();
    do {
      const std::size_t size = std::min(segment, rest.size());
      receive(datagram.source, rest.first(size), now);
      rest = rest.subspan(size);
    } while (!rest.empty());
  }
}

void DatagramParts::receive(const io::SocketAddress& source, Bytes datagram, Time now) {
  const auto from = std::find_if(parts_.begin(), parts_.end(), [&](const auto& part) {
    return part->address().address == source.address && part->address().port == source.port;
  });
  if (from == parts_.end()) return counters_.add(DatagramPartsCounter::kStranger);
  (*from)->peer().receive(datagram, now);
}

void DatagramParts::run(Time now) {
  for (const auto& part : parts_) {
    const auto deadline = part->peer().deadline();
    if (deadline && *deadline <= now) part->peer().run(now);
  }
}

void DatagramParts::flush() {
  for (const auto& part : parts_)
    part->flush();
  watch_for_room();
}

void DatagramParts::watch_for_room() {
  const bool wanted = std::any_of(parts_.begin(), parts_.end(),
                                  [](const auto& part) { return part->is_blocked(); });
  if (wanted == watching_for_room_) return;
  watching_for_room_ = wanted;
  static_cast<void>(reactor_->change_events(watch_, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN));
}

std::optional<Time> DatagramParts::deadline() const {
  std::optional<Time> first;
  for (const auto& part : parts_) {
    const auto deadline = part->peer().deadline();
    if (deadline && (!first || *deadline < *first)) first = deadline;
  }
  return first;
}

std::vector<CounterValue> DatagramParts::counters() const {
  std::vector<CounterValue> out = counters_.snapshot();
  CounterValue refused{"udp_refused", "datagrams lost because the socket refused them", 0};
  for (const auto& part : parts_) {
    accumulate(out, part->peer().counters().snapshot());
    refused.value += part->refused();
  }
  out.push_back(refused);
  return out;
}

}  // namespace weft::daemon
