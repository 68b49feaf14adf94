// SPDX-License-Identifier: Apache-2.0
#include "sim/connected_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <utility>

#include "wire/bth.h"
#include "wire/endian.h"
#include "wire/packet.h"
#include "wire/roce.h"

namespace weft::sim {
namespace {

// A queue pair whose deadline is always now would stop the time.
constexpr std::uint32_t kMostIdleWakes = 100;
constexpr std::size_t kMostComplaints = 20;

}  // namespace

ConnectedHost::ConnectedHost(Scheduler& scheduler, Network& network, Random random,
                             const ConnectedHostConfig& config)
    : scheduler_(scheduler),
      network_(network),
      config_(config),
      entropy_(random),
      memory_(config.memory),
      table_(entropy_),
      completions_(config.completions),
      sink_(*this) {
}

std::uint64_t ConnectedHost::address(std::size_t offset) const {
  return reinterpret_cast<std::uintptr_t>(memory_.data()) + offset;
}

hca::MemoryRegion ConnectedHost::add_region(std::size_t offset, std::size_t length,
                                            std::uint32_t access) {
  assert(offset + length <= memory_.size());
  const auto added = table_.add({.base = memory_.data() + offset,
                                 .iova = address(offset),
                                 .length = length,
                                 .access = access,
                                 .pd = kPd});
  if (!added) {
    complain("a region was refused: " + added.error().message);
    return {};
  }
  return *added;
}

ConnectedHost::Attached& ConnectedHost::at(Qpn qpn) {
  const auto found = attached_.find(qpn.value());
  assert(found != attached_.end());
  return found->second;
}

std::size_t ConnectedHost::socket_for(std::uint16_t port) {
  if (const auto found = by_port_.find(port); found != by_port_.end()) return found->second;
  const auto number = std::make_shared<std::size_t>();
  *number = network_.open({config_.gid, port}, config_.socket_buffer, [this, number] {
    scheduler_.after(config_.read_time, [this, number] { read_one(*number); });
  });
  by_port_.emplace(port, *number);
  return *number;
}

hca::ConnectedQueuePair& ConnectedHost::add(hca::ConnectedConfig config, hca::ReceiveSource* shared,
                                            hca::XrcQueues* queues) {
  // The domain of an XRC target's memory is that of the shared receive queue that a packet names
  // (annex A14).
  config.pd = config.type == hca::QpType::kXrcTarget ? 0 : kPd;
  Attached attached;
  attached.socket = socket_for(port_of(config.qpn));
  attached.queue_pair =
      std::make_unique<hca::ConnectedQueuePair>(config, table_, sink_, sink_, shared, queues);
  const auto [place, fresh] = attached_.emplace(config.qpn.value(), std::move(attached));
  assert(fresh && "two queue pairs of one number");
  (void)fresh;
  return *place->second.queue_pair;
}

Expected<void> ConnectedHost::modify(Qpn qpn, const hca::QpAttributes& attributes,
                                     std::uint32_t mask) {
  Attached& attached = at(qpn);
  auto done = attached.queue_pair->modify(attributes, mask);
  after_call(attached);
  return done;
}

Expected<void> ConnectedHost::initialize(Qpn qpn, const ConnectionSetup& setup) {
  using namespace hca;
  return modify(qpn, {.state = QpState::kInit, .port = 1, .access = setup.access},
                kAttrState | kAttrPKeyIndex | kAttrPort | kAttrAccess);
}

Expected<void> ConnectedHost::connect(Qpn qpn, const Gid& gid, Qpn peer,
                                      const ConnectionSetup& setup) {
  using namespace hca;
  if (queue_pair(qpn).state() == QpState::kReset) {
    if (auto done = initialize(qpn, setup); !done) return done;
  }
  QpAttributes attributes{.state = QpState::kRtr,
                          .sq_psn = setup.sq_psn,
                          .rq_psn = setup.rq_psn,
                          .peer = peer,
                          .path = {.sgid = config_.gid, .dgid = gid},
                          .path_mtu = setup.path_mtu,
                          .max_reads_out = setup.max_reads_out,
                          .max_reads_in = setup.max_reads_in,
                          .rnr_timer = setup.rnr_timer,
                          .ack_timeout = setup.ack_timeout,
                          .retry_count = setup.retry_count,
                          .rnr_retry = setup.rnr_retry};
  const QpType type = queue_pair(qpn).type();
  const bool requests = type == QpType::kRc || type == QpType::kXrcInitiator;
  const bool responds = type == QpType::kRc || type == QpType::kXrcTarget;
  std::uint32_t mask = kAttrState | kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn;
  if (responds) mask |= kAttrMaxReadsIn | kAttrRnrTimer;
  if (auto done = modify(qpn, attributes, mask); !done) return done;
  attributes.state = QpState::kRts;
  mask = kAttrState | kAttrSqPsn;
  if (requests) mask |= kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut;
  if (requests || responds) mask |= kAttrAckTimeout;
  return modify(qpn, attributes, mask);
}

std::errc ConnectedHost::post_send(Qpn qpn, const hca::SendRequest& request) {
  const std::errc error = at(qpn).queue_pair->post_send(request);
  // After the caller has posted the rest of what it posts at this moment.
  pump_soon(qpn);
  return error;
}

std::errc ConnectedHost::post_receive(Qpn qpn, const hca::ReceiveRequest& request) {
  const std::errc error = at(qpn).queue_pair->post_receive(request);
  pump_soon(qpn);
  return error;
}

void ConnectedHost::look_at(Qpn qpn) {
  pump_soon(qpn);
}

void ConnectedHost::pump_soon(Qpn qpn) {
  Attached& attached = at(qpn);
  if (std::exchange(attached.pump_due, true)) return;
  scheduler_.after(0ns, [this, &attached] {
    attached.pump_due = false;
    after_call(attached);
  });
}

// What an owner does after each call: sees to events, work and the deadline.
void ConnectedHost::after_call(Attached& attached) {
  if (attached.queue_pair->has_work()) return pump(attached);
  const std::uint32_t events = attached.queue_pair->take_events();
  if (events != 0 && on_events) on_events(attached.queue_pair->qpn(), events);
  if (const auto deadline = attached.queue_pair->deadline()) wake_at(attached, *deadline);
}

void ConnectedHost::pump(Attached& attached) {
  if (vanished_) return;
  hca::QueuePair& queue_pair = *attached.queue_pair;
  const Time now = scheduler_.now();
  while (queue_pair.next_burst(scratch_, now)) {
    attached.idle_wakes = 0;
    check(scratch_);
    const hca::SendResult result = send(attached, scratch_);
    queue_pair.sent(scratch_, result, now);
    if (result.outcome == hca::SendOutcome::kWouldBlock) {
      wake_at(attached, std::max(network_.when_writable(attached.socket), now + 1ns));
      break;
    }
  }
  const std::uint32_t events = queue_pair.take_events();
  if (events != 0 && on_events) on_events(queue_pair.qpn(), events);
  if (const auto deadline = queue_pair.deadline()) wake_at(attached, *deadline);
}

void ConnectedHost::wake_at(Attached& attached, Time when) {
  const Time now = scheduler_.now();
  if (when <= now) {
    when = now;
    if (++attached.idle_wakes > kMostIdleWakes) {
      complain("a deadline that has passed stays, whatever is done about it");
      when = now + 1ms;
    }
  } else {
    attached.idle_wakes = 0;
  }
  if (attached.wake_at && *attached.wake_at <= when) return;
  attached.wake_at = when;
  scheduler_.at(when, [this, &attached, when] {
    if (attached.wake_at != when) return;
    attached.wake_at.reset();
    pump(attached);
  });
}

void ConnectedHost::complete(const hca::Completion& completion) {
  if (!completions_.push(completion).stored) complain("the completion queue is overrun");
  if (std::exchange(poll_due_, true)) return;
  scheduler_.after(config_.poll_time, [this] { poll(); });
}

void ConnectedHost::poll() {
  poll_due_ = false;
  std::array<hca::Completion, 32> batch;
  while (const std::size_t count = completions_.poll(batch)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (on_completion) on_completion(batch[i]);
    }
  }
}

void ConnectedHost::check(const hca::Burst& burst) {
  if (burst.empty()) return complain("an empty burst");
  std::size_t total = 0;
  const std::size_t longest = burst.packets().front().length();
  for (std::size_t i = 0; i < burst.size(); ++i) {
    const hca::OutPacket& packet = burst.packets()[i];
    std::size_t payload = 0;
    for (const Bytes piece : burst.pieces(packet))
      payload += piece.size();
    total += packet.length() + wire::kIcrcSize;
    if (payload != packet.payload_length) complain("a packet's pieces are not its payload");
    if (packet.length() % 4 != 0) complain("a packet's length is no multiple of 4");
    const bool fits =
        packet.length() == longest || (i + 1 == burst.size() && packet.length() < longest);
    if (!fits) complain("packets of several lengths in one burst");
  }
  if (total > hca::Burst::kMaxBytes) complain("a burst of too many bytes");
}

hca::SendResult ConnectedHost::send(const Attached& attached, const hca::Burst& burst) {
  const Qpn qpn = attached.queue_pair->qpn();
  if (on_send) {
    const hca::SendResult result = on_send(qpn, burst);
    if (result.outcome != hca::SendOutcome::kSent) return result;
  }
  Run run{{}, {burst.path.dgid, port_of(burst.destination)}, {}, burst.path.traffic_class};
  const wire::IcrcFlow flow(config_.gid, burst.path.dgid, port_of(qpn), run.to.port);
  for (const hca::OutPacket& packet : burst.packets()) {
    std::vector<std::byte> datagram(packet.header.begin(),
                                    packet.header.begin() + packet.header_length);
    for (const Bytes piece : burst.pieces(packet))
      datagram.insert(datagram.end(), piece.begin(), piece.end());
    datagram.resize(datagram.size() + packet.pad);
    const std::uint32_t icrc = flow.icrc(datagram);
    datagram.resize(datagram.size() + wire::kIcrcSize);
    wire::store_le32(datagram.data() + datagram.size() - wire::kIcrcSize, icrc);
    run.datagrams.push_back(std::move(datagram));
  }
  if (!network_.send(attached.socket, std::move(run))) {
    return {.outcome = hca::SendOutcome::kWouldBlock};
  }
  return {};
}

void ConnectedHost::read_one(std::size_t socket) {
  const Run run = network_.read(socket);
  if (vanished_) return;
  for (const auto& datagram : run.datagrams)
    receive(run, datagram);
  if (network_.readable(socket)) {
    scheduler_.after(config_.read_time, [this, socket] { read_one(socket); });
  } else {
    end_run(socket);
  }
  for (auto& [number, attached] : attached_) {
    if (attached.socket == socket) after_call(attached);
  }
}

void ConnectedHost::end_run(std::size_t socket) {
  for (auto& [number, attached] : attached_) {
    if (attached.socket == socket && std::exchange(attached.received, false)) {
      attached.queue_pair->end_run(scheduler_.now());
    }
  }
}

void ConnectedHost::receive(const Run& run, Bytes datagram) {
  const wire::IcrcFlow flow(run.from.gid, run.to.gid, run.from.port, run.to.port);
  const bool whole = datagram.size() >= wire::Bth::kSize + wire::kIcrcSize;
  if (!whole || flow.check(datagram) != wire::IcrcVerdict::good) {
    ++bad_icrc_;
    return;
  }
  const auto found = attached_.find(wire::Bth::parse(datagram)->dest_qp.value());
  if (found == attached_.end()) {
    ++misdirected_;
    return;
  }
  Attached& attached = found->second;
  attached.received = true;
  attached.queue_pair->receive({.transport = datagram.first(datagram.size() - wire::kIcrcSize),
                                .source = run.from.gid,
                                .destination = run.to.gid,
                                .source_qpn = Qpn{run.from.port},
                                .traffic_class = run.traffic_class},
                               scheduler_.now());
}

void ConnectedHost::complain(std::string what) {
  if (complaints_.size() < kMostComplaints) {
    complaints_.push_back(
        fmt::format("{} ns: {}", scheduler_.now().time_since_epoch().count(), std::move(what)));
  }
}

}  // namespace weft::sim
