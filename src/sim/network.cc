// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "wire/ip.h"

namespace weft::sim {
namespace {

constexpr std::size_t kFrameBytes = 14 + 20 + 8;  // Ethernet, IPv4 and UDP headers

}  // namespace

std::size_t Run::bytes() const {
  std::size_t sum = 0;
  for (const auto& datagram : datagrams)
    sum += datagram.size();
  return sum;
}

std::size_t Network::open(const Address& address, std::size_t buffer,
                          std::function<void()> readable) {
  const std::size_t number = sockets_.size();
  const bool fresh = by_address_.emplace(address, number).second;
  assert(fresh && "two sockets of one address");
  (void)fresh;
  sockets_.push_back(
      Socket{.address = address, .capacity = buffer, .readable = std::move(readable), .queue = {}});
  return number;
}

void Network::join(std::size_t socket, const Gid& group) {
  assert(group.is_multicast() && socket < sockets_.size());
  groups_[group].push_back(socket);
}

Time Network::when_writable(std::size_t socket) const {
  return std::max(scheduler_.now(), sockets_[socket].link_free - kSendQueue);
}

bool Network::send(std::size_t socket, Run run) {
  if (when_writable(socket) > scheduler_.now()) return false;
  Socket& sender = sockets_[socket];
  run.from = sender.address;
  note("send", run, run.bytes());
  counts_.sent += run.datagrams.size();
  const auto busy =
      Duration(static_cast<std::int64_t>(run.bytes() * 1'000'000'000 / faults_.rate_bytes_per_s));
  sender.link_free = std::max(sender.link_free, scheduler_.now()) + busy;
  if (run.to.gid.is_multicast()) {
    for (const std::size_t member : groups_[run.to.gid]) {
      if (member != socket) carry(socket, member, run);
    }
    return true;
  }
  const auto found = by_address_.find(run.to);
  if (found == by_address_.end()) {
    counts_.unreachable += run.datagrams.size();
    return true;
  }
  carry(socket, found->second, run);
  return true;
}

void Network::carry(std::size_t from, std::size_t to, const Run& run) {
  Socket& sender = sockets_[from];
  Time when = sender.link_free + faults_.delay;
  if (faults_.jitter > 0ns) {
    when += Duration(static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>(faults_.jitter.count()))));
  }
  when = sender.last_arrival = std::max(when, sender.last_arrival);
  Run together{run.from, run.to, {}, run.traffic_class};
  for (std::size_t i = 0; i < run.datagrams.size(); ++i) {
    const std::vector<std::byte>& original = run.datagrams[i];
    // Nothing is drawn where nothing is asked for, so that a fault that is new leaves old seeds be.
    const bool wrong = faults_.corrupt > 0 && random_.chance(faults_.corrupt);
    const std::vector<std::byte> damaged = wrong ? damage(original) : std::vector<std::byte>{};
    const std::vector<std::byte>& datagram = wrong ? damaged : original;
    const bool too_long = faults_.longest != 0 && datagram.size() > faults_.longest;
    const bool dropped = too_long || random_.chance(faults_.loss) ||
                         (is_credit(datagram) && random_.chance(faults_.credit_loss)) ||
                         loses(run, i);
    if (dropped) {
      ++counts_.lost;
      note("lose", run, datagram.size());
      continue;
    }
    const auto alone = [&] {
      const auto late = random_.below(static_cast<std::uint64_t>(faults_.reorder_delay.count()));
      arrive_later(to, Run{run.from, run.to, {datagram}, run.traffic_class},
                   when + Duration(static_cast<std::int64_t>(late)));
    };
    if (random_.chance(faults_.duplicate)) {
      ++counts_.duplicated;
      alone();
    }
    if (random_.chance(faults_.reorder)) {
      ++counts_.reordered;
      alone();
    } else {
      together.datagrams.push_back(datagram);
    }
  }
  if (!together.datagrams.empty()) arrive_later(to, std::move(together), when);
}

std::vector<std::byte> Network::damage(std::vector<std::byte> datagram) {
  if (datagram.empty()) return datagram;
  ++counts_.corrupted;
  const std::uint64_t bit = random_.below(datagram.size() * 8);
  datagram[bit / 8] ^= std::byte{1} << (bit % 8);
  return datagram;
}

void Network::arrive_later(std::size_t to, Run run, Time when) {
  scheduler_.at(when, [this, to, run = std::move(run)]() mutable { pass(to, std::move(run)); });
}

// A run that waits in a queue leaves it as datagrams of their own.
void Network::pass(std::size_t to, Run run) {
  const auto found = bottlenecks_.find(sockets_[to].address.gid);
  if (found == bottlenecks_.end()) return arrive(to, std::move(run));
  const Bottleneck& link = found->second.link;
  Time& free = found->second.free;
  const auto time_of = [&](std::size_t bytes) {
    return Duration(static_cast<std::int64_t>(bytes * 1'000'000'000 / link.rate_bytes_per_s));
  };
  for (auto& datagram : run.datagrams) {
    const Time start = std::max(free, scheduler_.now());
    const std::size_t length = kFrameBytes + datagram.size();
    if (start - scheduler_.now() + time_of(length) > time_of(link.queue)) {
      ++counts_.dropped;
      note("drop", run, datagram.size());
      continue;
    }
    Run one{run.from, run.to, {std::move(datagram)}, run.traffic_class};
    const bool capable = (one.traffic_class & wire::kEcnBits) != 0;
    if (capable && link.mark != 0 && start - scheduler_.now() > time_of(link.mark)) {
      one.traffic_class |= wire::kCongestionExperienced;
      ++counts_.marked;
      note("mark", one, one.bytes());
    }
    free = start + time_of(length);
    scheduler_.at(free, [this, to, one = std::move(one)]() mutable { arrive(to, std::move(one)); });
  }
}

void Network::arrive(std::size_t to, Run run) {
  Socket& socket = sockets_[to];
  if (socket.used > socket.capacity) {  // as Linux: what begins within the limit is taken whole
    counts_.overrun += run.datagrams.size();
    note("overrun", run, run.bytes());
    return;
  }
  note("arrive", run, run.bytes());
  counts_.delivered += run.datagrams.size();
  socket.used += truesize(run.bytes());
  const bool was_idle = socket.queue.empty();
  socket.queue.push_back(std::move(run));
  if (was_idle) socket.readable();
}

Run Network::read(std::size_t number) {
  Socket& socket = sockets_[number];
  if (socket.queue.empty()) return {};
  Run run = std::move(socket.queue.front());
  socket.queue.pop_front();
  socket.read_but_held += truesize(run.bytes());
  if (socket.read_but_held >= socket.capacity / 4 || socket.queue.empty()) {
    assert(socket.used >= socket.read_but_held);
    socket.used -= std::exchange(socket.read_but_held, 0);
  }
  return run;
}

void Network::note(const char* what, const Run& run, std::size_t bytes) {
  if (!tracing_) return;
  std::uint32_t sum = 0;  // any change of any byte changes the line
  for (const auto& datagram : run.datagrams) {
    for (const std::byte b : datagram)
      sum = sum * 16'777'619 + std::to_integer<std::uint32_t>(b) + 1;
  }
  fmt::format_to(std::back_inserter(trace_), "{} {} {}:{} > {}:{} {} datagrams {} bytes {:08x}\n",
                 scheduler_.now().time_since_epoch().count(), what, run.from.gid.to_string(),
                 run.from.port, run.to.gid.to_string(), run.to.port, run.datagrams.size(), bytes,
                 sum);
}

}  // namespace weft::sim
