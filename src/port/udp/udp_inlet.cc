// SPDX-License-Identifier: Apache-2.0
#include "port/udp/udp_inlet.h"

#include <algorithm>
#include <array>

#include "io/clock.h"
#include "port/udp/multicast.h"
#include "wire/bth.h"

namespace weft::port {
namespace {

constexpr std::size_t kQuoted = 64;  // bytes of a packet: all headers
constexpr std::size_t kErrorsAtOnce = 32;

// What one receive call works with: room for a datagram as long as the kernel can deliver. One per
// thread: receive calls do not nest. The kernel copies by string moves, which take AMD's processors
// up to ten times as long where the two places in their pages differ by less than 64 bytes, but not
// by 32.
struct ReceiveScratch {
  alignas(64) std::array<std::byte, io::kUdpReceiveBuffer> buffer;
  IcrcFlowCache flows;
};

ReceiveScratch& receive_scratch() {
  [[gnu::tls_model("initial-exec")]] thread_local std::unique_ptr<ReceiveScratch> scratch;
  if (!scratch) scratch = std::make_unique<ReceiveScratch>();
  return *scratch;
}

}  // namespace

UdpInlet::UdpInlet(std::shared_ptr<UdpShared> shared, io::UdpSocket socket,
                   std::optional<io::UdpSocket> sender, Lease lease,
                   std::unique_ptr<InletFaults> faults)
    : shared_(std::move(shared)),
      lease_(std::move(lease)),
      socket_(std::move(socket)),
      sender_(std::move(sender)),
      faults_(std::move(faults)) {
  shared_->add(*this);
}

UdpInlet::~UdpInlet() {
  shared_->remove(*this);
}

std::uint32_t UdpInlet::overflows() const {
  const io::UdpSocket* multicast = multicast_ready_.load(std::memory_order_acquire);
  return socket_.overflows() + (multicast != nullptr ? multicast->overflows() : 0);
}

std::uint32_t UdpInlet::capacity() const {
  return static_cast<std::uint32_t>(socket_.granted_receive_buffer());
}

std::vector<int> UdpInlet::descriptors() const {
  std::vector<int> out{socket_.fd()};
  if (sender_) out.push_back(sender_->fd());
  if (const io::UdpSocket* multicast = multicast_ready_.load(std::memory_order_acquire)) {
    out.push_back(multicast->fd());
  }
  if (faults_) out.push_back(faults_->descriptor());
  return out;
}

bool UdpInlet::accepts(const io::ReceivedDatagram& datagram) {
  if (datagram.destination == last_own_) return true;
  if (datagram.destination.is_multicast()) return true;  // the core knows the attached groups
  const auto same = [&](const Gid& own) { return own == datagram.destination; };
  if (!shared_->find_own(same, io::now())) return false;
  last_own_ = datagram.destination;
  return true;
}

// The ICRC covers the destination address, so the one with which it is right is the one it was sent
// to. Having the kernel tell it instead would cost a tenth of a short datagram's round trip.
bool UdpInlet::find_destination(Bytes run, io::ReceivedDatagram& datagram, IcrcFlowCache& flows) {
  const Bytes first = first_frame(run, datagram);
  const auto is_right = [&](const Gid& destination) {
    return destination.is_ipv4_mapped() == datagram.source.is_ipv4() &&
           icrc_is_right(first,
                         flows.get(datagram.source.address, destination, datagram.source.port,
                                   socket_.port()),
                         shared_->rules);
  };
  if (!is_right(last_own_)) {
    const auto found = shared_->find_own(is_right, io::now());
    if (!found) return false;
    last_own_ = *found;
  }
  datagram.destination = last_own_;
  return true;
}

// What comes off the faulty line is looked at as if it had just come from the socket.
class UdpInlet::FaultSink final : public FaultyLine::Sink {
 public:
  // `tap`: of the program whose line it is; null: the port's own.
  FaultSink(UdpShared& shared, DatagramSink& sink, IcrcFlowCache& flows, PacketTap* tap = nullptr)
      : shared_(shared), sink_(sink), flows_(flows), tap_(tap) {}
  void frame(const FaultyFrame& frame) override {
    const ReceivedFrames frames(frame.bytes, frame.about, frame.local_port, shared_.rules);
    Capture* const capture =
        tap_ != nullptr ? tap_->capture(frame.about.destination) : shared_.capture.get();
    frames.deliver(sink_, shared_.counters, flows_, capture, false);
    if (tap_ != nullptr && capture != nullptr) capture->flush();  // as UdpEndpoint does
    sink_.end_run();
  }

 private:
  UdpShared& shared_;
  DatagramSink& sink_;
  IcrcFlowCache& flows_;
  PacketTap* tap_;
};

void UdpInlet::release_held(DatagramSink& sink) {
  FaultSink line(*shared_, sink, receive_scratch().flows);
  if (faults_->holds_something()) faults_->release(io::now(), line);
  count(faults_->settle(), shared_->counters);
}

// Each packet of a run may be another program's.
void UdpInlet::deliver_tapped(MutableBytes run, const io::ReceivedDatagram& received,
                              DatagramSink& sink) {
  PacketTaps& taps = *shared_->config.taps;
  io::ReceivedDatagram about = received;
  about.segment_size = 0;
  const std::size_t segment =
      received.segment_size != 0 ? received.segment_size : std::max<std::size_t>(run.size(), 1);
  std::size_t at = 0;
  do {
    const MutableBytes frame = run.subspan(at, std::min(segment, run.size() - at));
    PacketTap* const tap = taps.of_arriving(frame, about.source.address, about.destination);
    FaultSink line(*shared_, sink, receive_scratch().flows, tap);
    if (tap != nullptr && tap->faults() != nullptr) {
      tap->faults()->arrive(frame, about, socket_.port(), io::now(), line);
    } else {
      line.frame({frame, about, socket_.port()});
    }
    at += segment;
  } while (at < run.size());
}

void UdpInlet::release_tapped(DatagramSink& sink) {
  for (PacketTap* const tap : shared_->config.taps->all()) {
    InletFaults* const faults = tap->faults();
    if (faults == nullptr) continue;
    FaultSink line(*shared_, sink, receive_scratch().flows, tap);
    if (faults->holds_something()) faults->release(io::now(), line);
    count(faults->settle(), shared_->counters);
  }
}

std::size_t UdpInlet::receive(DatagramSink& sink, std::size_t budget) {
  const Told told = shared_->rules.icrc_tells_destination() ? Told::kNothing : Told::kDestination;
  std::size_t count = receive_from(socket_, told, sink, budget);
  if (const io::UdpSocket* multicast = multicast_ready_.load(std::memory_order_acquire)) {
    count += receive_from(*multicast, Told::kDestination, sink, budget);
  }
  if (faults_) release_held(sink);
  if (shared_->config.taps != nullptr) release_tapped(sink);
  if (errors_expected_.load(std::memory_order_relaxed)) receive_errors(sink);
  return count;
}

// Anybody can have the kernel queue such reports, so few are read at a time, and each must quote
// the packet that it is about. On `bare` there is nothing to tell a queue pair.
void UdpInlet::receive_errors(DatagramSink& sink) {
  errors_expected_.store(false, std::memory_order_relaxed);
  UdpCounters& counters = shared_->counters;
  std::array<std::byte, kQuoted> quote;
  for (std::size_t i = 0; i < kErrorsAtOnce; ++i) {
    io::DeliveryError error;
    const io::IoResult result = socket().receive_error(quote, error);
    if (result.status != io::IoStatus::kDone) return;
    using Reason = io::DeliveryError::Reason;
    switch (error.reason) {
      case Reason::kPortUnreachable:
        counters.add(UdpCounter::kErrorsRefused);
        break;
      case Reason::kUnreachable:
        counters.add(UdpCounter::kErrorsUnreachable);
        break;
      case Reason::kTooLong:
        counters.add(UdpCounter::kErrorsTooLong);
        continue;
      case Reason::kOther:
        counters.add(UdpCounter::kErrorsOther);
        continue;
    }
    if (shared_->rules.framing != hca::UdFraming::kBth) continue;
    if (result.bytes < wire::Bth::kSize) {
      counters.add(UdpCounter::kErrorsUnquoted);
      continue;
    }
    sink.undelivered({.reason = error.reason == Reason::kPortUnreachable
                                    ? hca::Undelivered::Reason::kRefused
                                    : hca::Undelivered::Reason::kUnreachable,
                      .destination = error.destination.address,
                      .transport = Bytes(quote).first(result.bytes)});
  }
  expect_errors();  // there may be more
}

void UdpInlet::note(Coalescing::Change change) {
  if (change == Coalescing::Change::kOn) socket_.set_coalescing(true);
  if (change == Coalescing::Change::kOff && !socket_.stop_coalescing()) coalescing_.still_on();
}

std::size_t UdpInlet::receive_from(const io::UdpSocket& socket, Told told, DatagramSink& sink,
                                   std::size_t budget) {
  ReceiveScratch& scratch = receive_scratch();
  UdpCounters& counters = shared_->counters;
  std::size_t count = 0;
  while (count < budget) {
    io::ReceivedDatagram received;
    const io::IoResult result = socket.receive(scratch.buffer, received);
    if (result.status != io::IoStatus::kDone) {
      // A failure is a report about an earlier send; the queue of errors says which.
      if (result.status == io::IoStatus::kFailed) expect_errors();
      if (&socket == &socket_) note(coalescing_.nothing_there());
      break;
    }
    if (&socket == &socket_) note(coalescing_.received(received.segment_size != 0));
    counters.add(UdpCounter::kRxCalls);
    const Bytes run = Bytes(scratch.buffer).first(result.bytes);
    bool ours = true;
    bool first_is_good = false;
    if (told == Told::kNothing) {
      // None of our addresses: deliver() then finds each datagram's ICRC wrong, and says so.
      first_is_good = find_destination(run, received, scratch.flows);
      if (!first_is_good) received.destination = last_own_;
    } else {
      ours = accepts(received);
    }
    const ReceivedFrames frames(run, received, socket.port(), shared_->rules);
    counters.add(UdpCounter::kRxDatagrams, frames.count());
    count += frames.count();
    if (received.truncated) {
      counters.add(UdpCounter::kRxTruncated);
    } else if (!ours) {
      counters.add(UdpCounter::kRxWrongDestination, frames.count());
    } else if (shared_->config.taps != nullptr) {
      deliver_tapped(MutableBytes(scratch.buffer).first(result.bytes), received, sink);
    } else if (faults_) {
      FaultSink line(*shared_, sink, scratch.flows);
      faults_->arrive(MutableBytes(scratch.buffer).first(result.bytes), received, socket.port(),
                      io::now(), line);
    } else {
      frames.deliver(sink, counters, scratch.flows, shared_->capture.get(), first_is_good);
      sink.end_run();
    }
  }
  return count;
}

bool UdpInlet::allow_fragments() {
  if (!shared_->rules.may_fragment() || fragments_.exchange(true)) return false;
  socket().allow_fragments();
  shared_->counters.add(UdpCounter::kTxFragmenting);
  return true;
}

Expected<const io::UdpSocket*> UdpInlet::multicast_socket() {
  if (shared_->rules.fixed_port != 0) return &socket_;
  if (!multicast_) {
    io::UdpOptions options;
    options.local.port = kMulticastPort;
    options.reuse_address = true;
    options.only_joined_groups = true;
    options.tell_overflows = false;
    options.receive_buffer = shared_->config.socket_buffer;
    auto socket = io::UdpSocket::open(options);
    if (!socket) return tl::unexpected(socket.error());
    multicast_ = std::make_unique<io::UdpSocket>(std::move(*socket));
  }
  return multicast_.get();
}

Expected<void> UdpInlet::attach(const Gid& group, Qpn member) {
  const std::lock_guard guard(multicast_mutex_);
  const auto socket = multicast_socket();
  if (!socket) return tl::unexpected(socket.error());
  if (!groups_.contains(group)) {
    if (auto joined = (*socket)->join(group, shared_->config.ifindex); !joined) return joined;
  }
  groups_[group].insert(member);
  multicast_ready_.store(multicast_.get(), std::memory_order_release);
  return {};
}

Expected<void> UdpInlet::detach(const Gid& group, Qpn member) {
  const std::lock_guard guard(multicast_mutex_);
  const auto found = groups_.find(group);
  if (found == groups_.end() || found->second.erase(member) == 0) {
    return fail(std::errc::invalid_argument,
                "not attached to multicast group " + group.to_string());
  }
  if (!found->second.empty()) return {};
  groups_.erase(found);
  const auto socket = multicast_socket();
  if (!socket) return tl::unexpected(socket.error());
  return (*socket)->leave(group, shared_->config.ifindex);
}

void UdpInlet::detach_all(Qpn member) {
  std::vector<Gid> groups;
  {
    const std::lock_guard guard(multicast_mutex_);
    for (const auto& [group, members] : groups_) {
      if (members.contains(member)) groups.push_back(group);
    }
  }
  // An interface that is gone has taken its memberships along.
  for (const Gid& group : groups)
    static_cast<void>(detach(group, member));
}

}  // namespace weft::port
