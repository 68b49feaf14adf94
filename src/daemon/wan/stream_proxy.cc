// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/stream_proxy.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "daemon/counters_json.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kStreamProxyPiece = 64 * 1024;  // read at once: what a burst is on the line
constexpr int kPiecesInATurn = 16;                    // then others, and what is due, have theirs
constexpr std::size_t kMostWaiting = 1024 * 1024;     // for a receiver that does not read
constexpr std::size_t kMostPieces = 64;               // written at once
constexpr Duration kStreamProxyTryAgain = 1ms;        // where memory is what is missing

}  // namespace

Expected<std::unique_ptr<StreamProxy>> StreamProxy::open(io::Reactor& reactor, StreamAddress listen,
                                                         const StreamAddress& target,
                                                         std::size_t memory,
                                                         const std::string& equipment) {
  if (auto made = wan::LineEquipment::parse(equipment); !made) {
    return tl::unexpected(made.error());
  }
  auto listener = listen_stream(listen);
  if (!listener) return tl::unexpected(listener.error());
  std::unique_ptr<StreamProxy> proxy(new StreamProxy(reactor, std::move(listen), target, memory));
  proxy->listener_ = std::move(*listener);
  proxy->equipment_ = equipment;
  auto watch = reactor.watch(proxy->listener_.get(), EPOLLIN,
                             [raw = proxy.get()](std::uint32_t) { raw->accept_all(); });
  if (!watch) return tl::unexpected(watch.error());
  proxy->watch_ = std::move(*watch);
  return proxy;
}

StreamProxy::StreamProxy(io::Reactor& reactor, StreamAddress listen, const StreamAddress& target,
                         std::size_t memory)
    : reactor_(reactor),
      listen_(std::move(listen)),
      target_(target),
      directions_{{{{}, memory, Time{}}, {{}, memory, Time{}}}} {
}

void StreamProxy::change(const wan::PathEmulation& forward, const wan::PathEmulation& backward,
                         Time now) {
  directions_[kClient].model.change(forward, now);
  directions_[kTarget].model.change(backward, now);
}

void StreamProxy::accept_all() {
  for (;;) {
    auto accepted = accept_stream(listener_.get());
    if (!accepted) {
      ++refused_;
      return turn_away(listener_.get(), spare_);
    }
    if (!*accepted) return;
    auto target = connections_.size() < kMostConnections
                      ? connect_stream(target_)
                      : fail(std::errc::too_many_files_open, "too many connections");
    if (!target) {
      ++refused_;
      continue;  // which closes it
    }
    const std::uint32_t number = ++last_connection_;
    Connection& connection = connections_[number];
    connection.ends = {std::move(**accepted), std::move(*target)};
    connection.equipment = std::move(wan::LineEquipment::parse(equipment_).value());
    for (const Side side : {kClient, kTarget}) {
      auto watch = reactor_.watch(
          connection.ends[side].get(), EPOLLIN,
          [this, number, side](std::uint32_t events) { ready(number, side, events); });
      if (watch) connection.watches[side] = std::move(*watch);
    }
    if (!connection.watches[kClient] || !connection.watches[kTarget]) {
      ++refused_;
      close(number);
    }
  }
}

bool StreamProxy::may_read(const Pipe& pipe, Side from, Time now) const {
  return !pipe.read_all && pipe.waiting < kMostWaiting &&
         directions_[from].model.stream_ready() <= now;
}

void StreamProxy::ready(std::uint32_t number, Side side, std::uint32_t events) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  const Side other = side == kClient ? kTarget : kClient;
  const Time now = io::now();
  bool whole = (events & EPOLLERR) == 0;
  if (whole && (events & (EPOLLIN | EPOLLHUP)) != 0) {
    connection.pipes[side].wants = true;
    if ((events & EPOLLHUP) != 0) hang_up(connection, side);
    whole = read(number, connection, side, now);
  }
  if (whole && (events & EPOLLOUT) != 0) whole = write(connection, other);
  if (!whole) {
    ++broken_;
    return close(number);
  }
  watch_what_matters(number, connection, now);
}

// Nothing comes there any more but what waits to be read, and run() does that in its time: that
// both ways are shut would be said for ever.
void StreamProxy::hang_up(Connection& connection, Side side) {
  connection.pipes[side].hung_up = true;
  connection.watches[side].reset();
}

bool StreamProxy::read(std::uint32_t number, Connection& connection, Side from, Time now) {
  Pipe& pipe = connection.pipes[from];
  for (int pieces = 0; pipe.wants && may_read(pipe, from, now); ++pieces) {
    if (pieces == kPiecesInATurn) {
      pipe.wants = pipe.hung_up;  // epoll says again that there is more
      return true;
    }
    const MutableBytes room = directions_[from].line.room(kStreamProxyPiece);
    if (room.empty()) return true;  // run() tries again
    const ssize_t got = recv(connection.ends[from].get(), room.data(), room.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      pipe.wants = false;
      return errno == EAGAIN;
    }
    const MutableBytes piece = room.first(static_cast<std::size_t>(got));
    pass(connection, from, piece, now);
    directions_[from].carry_stream(piece, number, now);
    if (got == 0) pipe.read_all = true;
    // A short piece was all there was; epoll says when there is more.
    const bool is_short = static_cast<std::size_t>(got) < room.size();
    if (got == 0 || (is_short && !pipe.hung_up)) pipe.wants = false;
  }
  return true;
}

// In the order in which it stands.
void StreamProxy::pass(const Connection& connection, Side from, MutableBytes piece, Time now) {
  using From = wan::LineEquipment::From;
  if (piece.empty()) return;
  if (from == kClient) {
    for (const auto& each : connection.equipment)
      each->pass(From::kFirst, piece, now);
    return;
  }
  for (auto each = connection.equipment.rbegin(); each != connection.equipment.rend(); ++each)
    (*each)->pass(From::kSecond, piece, now);
}

// What has been written of the first pieces makes room again.
void StreamProxy::consume(Pipe& pipe, Side from, std::size_t bytes) {
  EmulatedDirection& direction = directions_[from];
  direction.counters.add_in_turn(EmulatorCounter::kDeliveredBytes, bytes);
  pipe.waiting -= bytes;
  pipe.written += bytes;
  while (!pipe.out.empty() && !pipe.out.front().bytes.empty() &&
         pipe.written >= pipe.out.front().bytes.size()) {
    pipe.written -= pipe.out.front().bytes.size();
    direction.counters.add_in_turn(EmulatorCounter::kDelivered);
    direction.line.release(pipe.out.front());
    pipe.out.pop_front();
  }
}

bool StreamProxy::write(Connection& connection, Side from) {
  Pipe& pipe = connection.pipes[from];
  const int to = connection.ends[from == kClient ? kTarget : kClient].get();
  while (!pipe.out.empty() && !pipe.out.front().bytes.empty()) {
    std::array<iovec, kMostPieces> pieces;
    std::size_t count = 0;
    for (const auto& held : pipe.out) {
      if (count == pieces.size() || held.bytes.empty()) break;
      const Bytes rest = held.bytes.subspan(count == 0 ? pipe.written : 0);
      pieces[count++] = {const_cast<std::byte*>(rest.data()), rest.size()};
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(to, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    consume(pipe, from, static_cast<std::size_t>(sent));
  }
  if (!pipe.out.empty()) {  // its end
    directions_[from].line.release(pipe.out.front());
    pipe.out.pop_front();
    pipe.wrote_all = true;
    shutdown(to, SHUT_WR);
  }
  return true;
}

// An end is watched for what can go on there, and not at all when both ways are done with it.
void StreamProxy::watch_what_matters(std::uint32_t number, Connection& connection, Time now) {
  if (connection.pipes[kClient].wrote_all && connection.pipes[kTarget].wrote_all) {
    return close(number);
  }
  for (const Side side : {kClient, kTarget}) {
    const Pipe& sends = connection.pipes[side];
    const Pipe& takes = connection.pipes[side == kClient ? kTarget : kClient];
    if (sends.read_all && takes.wrote_all) {
      connection.watches[side].reset();
      continue;
    }
    const bool in = !sends.wants && may_read(sends, side, now);
    const bool out = !takes.out.empty();
    (void)reactor_.change_events(connection.watches[side],
                                 (in ? EPOLLIN : 0U) | (out ? EPOLLOUT : 0U));
  }
}

void StreamProxy::close(std::uint32_t number) {
  auto node = connections_.extract(number);
  if (node.empty()) return;
  for (const auto& each : node.mapped().equipment)
    accumulate(equipment_gone_, each->counters());
  for (const Side side : {kClient, kTarget}) {
    for (const auto& held : node.mapped().pipes[side].out) {
      directions_[side].counters.add_in_turn(EmulatorCounter::kFlowGone);
      directions_[side].line.release(held);
    }
    node.mapped().watches[side].reset();
  }
}

void StreamProxy::deliver(Side from, Time now) {
  EmulatedDirection& direction = directions_[from];
  const auto deadline = direction.deadline();
  if (!deadline || *deadline > now) return;
  direction.sent_at = now;
  while (const auto held = direction.line.next(now)) {
    const auto found = connections_.find(held->flow);
    if (found == connections_.end()) {
      direction.counters.add_in_turn(EmulatorCounter::kFlowGone);
      direction.line.release(*held);
      continue;
    }
    Pipe& pipe = found->second.pipes[from];
    pipe.out.push_back(*held);
    pipe.waiting += held->bytes.size();
  }
}

std::optional<Time> StreamProxy::run(Time now) {
  for (const Side side : {kClient, kTarget})
    deliver(side, now);
  std::optional<Time> next;
  const auto at = [&](Time when) { next = std::min(when, next.value_or(Time::max())); };
  std::vector<std::uint32_t> numbers;
  numbers.reserve(connections_.size());
  for (const auto& [number, connection] : connections_)
    numbers.push_back(number);
  for (const std::uint32_t number : numbers) {
    Connection& connection = connections_.at(number);
    bool whole = true;
    for (const Side side : {kClient, kTarget}) {
      whole = whole && write(connection, side) && read(number, connection, side, now);
    }
    if (!whole) {
      ++broken_;
      close(number);
      continue;
    }
    for (const Side side : {kClient, kTarget}) {
      const Pipe& pipe = connection.pipes[side];
      const Time ready = directions_[side].model.stream_ready();
      // Held back by the line, or by memory; who waits for its receiver hears of that by epoll.
      if (!pipe.read_all && ready > now) at(ready);
      if (pipe.wants && may_read(pipe, side, now)) at(now + kStreamProxyTryAgain);
    }
    watch_what_matters(number, connection, now);
  }
  for (const EmulatedDirection& direction : directions_) {
    if (const auto deadline = direction.deadline()) at(*deadline);
  }
  return next;
}

nlohmann::json StreamProxy::equipment_report() const {
  std::vector<CounterValue> counters = equipment_gone_;
  for (const auto& [number, connection] : connections_) {
    for (const auto& each : connection.equipment)
      accumulate(counters, each->counters());
  }
  return {{"list", equipment_}, {"counters", counters_json(counters)}};
}

nlohmann::json StreamProxy::report(Time now) {
  nlohmann::json out{{"forward", directions_[kClient].report(now)},
                     {"backward", directions_[kTarget].report(now)},
                     {"connections", connections_.size()},
                     {"joined", last_connection_},
                     {"refused", refused_},
                     {"broken", broken_}};
  if (!equipment_.empty()) out["equipment"] = equipment_report();
  return out;
}

}  // namespace weft::daemon
