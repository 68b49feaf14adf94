// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/udp_proxy.h"

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kSocketBuffer = 64 * 1024 * 1024;  // wanted; the kernel may grant less
constexpr int kUdpProxyReadsInATurn = 16;

io::UdpOptions options_at(const io::SocketAddress& local) {
  return {.local = local,
          .ipv4_only = local.is_ipv4(),
          .receive_buffer = kSocketBuffer,
          .send_buffer = kSocketBuffer};
}

// Any address of the target's family, any port.
io::SocketAddress somewhere_towards(const io::SocketAddress& target) {
  return {.address = target.is_ipv4() ? Gid::from_ipv4(0) : Gid{}};
}

}  // namespace

Expected<std::unique_ptr<UdpProxy>> UdpProxy::open(io::Reactor& reactor,
                                                   const io::SocketAddress& listen,
                                                   const io::SocketAddress& target,
                                                   std::size_t memory) {
  auto socket = io::UdpSocket::open(options_at(listen));
  if (!socket) return tl::unexpected(socket.error());
  std::unique_ptr<UdpProxy> proxy(new UdpProxy(reactor, std::move(*socket), target, memory));
  auto watch = reactor.watch(proxy->listen_.fd(), EPOLLIN,
                             [raw = proxy.get()](std::uint32_t) { raw->read_clients(); });
  if (!watch) return tl::unexpected(watch.error());
  proxy->watch_ = std::move(*watch);
  return proxy;
}

UdpProxy::UdpProxy(io::Reactor& reactor, io::UdpSocket listen, const io::SocketAddress& target,
                   std::size_t memory)
    : reactor_(reactor),
      listen_(std::move(listen)),
      target_(target),
      forward_(memory),
      backward_(memory),
      nowhere_(io::kUdpReceiveBuffer) {
}

void UdpProxy::change(const wan::PathEmulation& forward, const wan::PathEmulation& backward,
                      Time now) {
  forward_.direction.model.change(forward, now);
  backward_.direction.model.change(backward, now);
}

// Into the room of the way's line, or nowhere when that is full. False when nothing is left.
bool UdpProxy::read(const io::UdpSocket& socket, Way& way, Arrival& out) {
  const MutableBytes room = way.direction.line.room(io::kUdpReceiveBuffer);
  out.kept = !room.empty();
  const auto result = socket.receive(out.kept ? room : MutableBytes(nowhere_), out.datagram);
  if (result.status != io::IoStatus::kDone) return false;
  out.bytes = room.first(out.kept ? result.bytes : 0);
  if (!out.kept) {
    const std::size_t size = out.datagram.segment_size;
    way.direction.counters.add_in_turn(EmulatorCounter::kNoMemory,
                                       size == 0 ? 1 : (result.bytes + size - 1) / size);
  }
  return true;
}

void UdpProxy::read_clients() {
  Arrival arrival;
  for (int i = 0; i < kUdpProxyReadsInATurn && read(listen_, forward_, arrival); ++i) {
    if (!arrival.kept) continue;
    const Time now = io::now();
    const std::uint32_t flow = flow_of(arrival.datagram, now);
    if (flow == 0) {
      forward_.direction.counters.add_in_turn(EmulatorCounter::kNotSent);
      continue;
    }
    forward_.direction.carry_datagrams(arrival.bytes, arrival.datagram.segment_size,
                                       arrival.datagram.tos, flow, now);
  }
}

void UdpProxy::read_target(std::uint32_t number) {
  Arrival arrival;
  Flow& flow = flows_.at(number);
  for (int i = 0; i < kUdpProxyReadsInATurn && read(flow.socket, backward_, arrival); ++i) {
    if (!arrival.kept) continue;
    if (arrival.datagram.source != target_) {
      backward_.direction.counters.add_in_turn(EmulatorCounter::kForeign);
      continue;
    }
    const Time now = io::now();
    flow.heard_at = now;
    backward_.direction.carry_datagrams(arrival.bytes, arrival.datagram.segment_size,
                                        arrival.datagram.tos, number, now);
  }
}

// 0: there can be none.
std::uint32_t UdpProxy::flow_of(const io::ReceivedDatagram& datagram, Time now) {
  const io::SocketAddress& from = datagram.source;
  const auto known = by_client_.find({from.address, from.port, from.scope_id});
  const std::uint32_t number = known != by_client_.end() ? known->second : add_flow(datagram);
  if (number != 0) flows_.at(number).heard_at = now;
  return number;
}

std::uint32_t UdpProxy::add_flow(const io::ReceivedDatagram& datagram) {
  auto socket = io::UdpSocket::open(options_at(somewhere_towards(target_)));
  if (!socket) return 0;
  const std::uint32_t number = ++last_flow_;
  auto watch =
      reactor_.watch(socket->fd(), EPOLLIN, [this, number](std::uint32_t) { read_target(number); });
  if (!watch) return 0;
  if (flows_.size() >= kMostClients) forget_longest_silent();
  const io::SocketAddress& from = datagram.source;
  by_client_[{from.address, from.port, from.scope_id}] = number;
  flows_.emplace(number,
                 Flow{std::move(*socket), from, datagram.destination, {}, std::move(*watch)});
  ++clients_;
  return number;
}

void UdpProxy::forget_longest_silent() {
  const auto oldest = std::min_element(
      flows_.begin(), flows_.end(),
      [](const auto& a, const auto& b) { return a.second.heard_at < b.second.heard_at; });
  const io::SocketAddress& client = oldest->second.client;
  by_client_.erase({client.address, client.port, client.scope_id});
  flows_.erase(oldest);
}

bool UdpProxy::Batch::takes(const wan::DelayLine::Held& next) const {
  if (packets.empty()) return true;
  const wan::DelayLine::Held& first = packets.front();
  return packets.size() < io::kMaxGsoSegments && next.flow == first.flow &&
         next.traffic_class == first.traffic_class && !next.bytes.empty() &&
         next.bytes.size() <= first.bytes.size() &&
         packets.back().bytes.size() == first.bytes.size() &&
         bytes + next.bytes.size() <= io::kMaxUdpPayload;
}

io::IoResult UdpProxy::send_packets(const Flow& flow, bool forward,
                                    std::span<const wan::DelayLine::Held> packets) const {
  std::array<iovec, io::kMaxGsoSegments> pieces;
  std::size_t count = 0;
  for (const wan::DelayLine::Held& packet : packets) {
    auto* const bytes = const_cast<std::byte*>(packet.bytes.data());
    iovec* const last = count == 0 ? nullptr : &pieces[count - 1];
    if (last != nullptr && static_cast<std::byte*>(last->iov_base) + last->iov_len == bytes) {
      last->iov_len += packet.bytes.size();
    } else {
      pieces[count++] = {bytes, packet.bytes.size()};
    }
  }
  io::SendDatagram datagram;
  datagram.destination = forward ? target_ : flow.client;
  if (!forward) datagram.source = flow.addressed;
  datagram.tos = packets.front().traffic_class;
  datagram.data = std::span(pieces).first(count);
  if (packets.size() > 1) {
    datagram.segment_size = static_cast<std::uint16_t>(packets.front().bytes.size());
  }
  return (forward ? flow.socket : listen_).send(datagram);
}

void UdpProxy::finish(Way& way, EmulatorCounter counter, std::size_t packets) {
  auto& all = way.batch.packets;
  for (std::size_t i = 0; i < packets; ++i) {
    way.batch.bytes -= all[i].bytes.size();
    if (counter == EmulatorCounter::kDelivered) {
      way.direction.counters.add_in_turn(EmulatorCounter::kDeliveredBytes, all[i].bytes.size());
    }
    way.direction.line.release(all[i]);
  }
  way.direction.counters.add_in_turn(counter, packets);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(packets));
}

// True when the batch is gone, sent or not; false when it waits for room in the send buffer.
bool UdpProxy::send(Way& way, bool forward) {
  bool together = true;
  while (!way.batch.packets.empty()) {
    const auto found = flows_.find(way.batch.packets.front().flow);
    if (found == flows_.end()) {
      finish(way, EmulatorCounter::kFlowGone, way.batch.packets.size());
      return true;
    }
    const std::size_t packets = together ? way.batch.packets.size() : 1;
    const auto result =
        send_packets(found->second, forward, std::span(way.batch.packets).first(packets));
    switch (result.status) {
      case io::IoStatus::kDone:
        finish(way, EmulatorCounter::kDelivered, packets);
        break;
      case io::IoStatus::kWouldBlock:
        return false;
      case io::IoStatus::kSegmentationRefused:
        together = false;
        break;
      case io::IoStatus::kFailed:
        finish(way, EmulatorCounter::kNotSent, packets);
        break;
    }
  }
  return true;
}

void UdpProxy::send_due(Way& way, bool forward, Time now) {
  const auto deadline = way.direction.deadline();
  if (!way.stuck && (!deadline || *deadline > now)) return;
  way.direction.sent_at = now;
  way.stuck = !send(way, forward);
  while (!way.stuck) {
    for (auto next = way.direction.line.peek(now); next && way.batch.takes(*next);
         next = way.direction.line.peek(now)) {
      way.batch.packets.push_back(*way.direction.line.next(now));
      way.batch.bytes += next->bytes.size();
    }
    if (way.batch.packets.empty()) return;
    way.stuck = !send(way, forward);
  }
}

std::optional<Time> UdpProxy::run(Time now) {
  std::optional<Time> next;
  for (Way* const way : {&forward_, &backward_}) {
    send_due(*way, way == &forward_, now);
    const auto deadline =
        way->stuck ? std::optional(now + EmulatedDirection::kGrain) : way->direction.deadline();
    if (deadline) next = std::min(*deadline, next.value_or(Time::max()));
  }
  return next;
}

nlohmann::json UdpProxy::report(Time now) {
  nlohmann::json out{{"forward", forward_.direction.report(now)},
                     {"backward", backward_.direction.report(now)},
                     {"clients", clients_}};
  std::uint64_t overrun = 0;
  for (const auto& [number, flow] : flows_)
    overrun += flow.socket.overflows();
  out["forward"]["counters"]["overrun"] = listen_.overflows();
  out["backward"]["counters"]["overrun"] = overrun;
  return out;
}

}  // namespace weft::daemon
