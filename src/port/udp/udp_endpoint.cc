// SPDX-License-Identifier: Apache-2.0
#include "port/udp/udp_endpoint.h"

#include "port/udp/framing.h"

namespace weft::port {
namespace {

constexpr hca::SendResult kUdpEndpointBadMemory{hca::SendOutcome::kRefused,
                                                hca::CompletionStatus::kLocalProtectionError};

SendFrames& send_frames() {
  [[gnu::tls_model("initial-exec")]] thread_local std::unique_ptr<SendFrames> frames;
  if (!frames) frames = std::make_unique<SendFrames>();
  return *frames;
}

}  // namespace

UdpEndpoint::UdpEndpoint(std::shared_ptr<UdpShared> shared, std::shared_ptr<UdpInlet> inlet,
                         Qpn qpn, Lease lease, Senders senders)
    : shared_(std::move(shared)),
      inlet_(std::move(inlet)),
      seen_inlet_(inlet_),
      qpn_(qpn),
      senders_(senders),
      lease_(std::move(lease)) {
}

hca::SendResult UdpEndpoint::outcome(const io::IoResult& result, std::size_t packets) {
  UdpCounters& counters = shared_->counters;
  using enum hca::SendOutcome;
  if (result.error != std::errc{} && result.error != std::errc::bad_address) {
    inlet_->expect_errors();
  }
  if (result.status == io::IoStatus::kDone) {
    counters.add(UdpCounter::kTxCalls);
    return {kSent};
  }
  if (result.status == io::IoStatus::kWouldBlock) {
    counters.add(UdpCounter::kTxBlocked);
    return {kWouldBlock};
  }
  // UD promises no delivery: what the network will not take is lost and counted, not an error of
  // the work request. Memory that cannot be read is.
  switch (result.error) {
    case std::errc::bad_address:
      return kUdpEndpointBadMemory;
    case std::errc::message_size:
      counters.add(UdpCounter::kTxTooLong, packets);
      too_long_ = true;
      break;
    case std::errc::network_unreachable:
    case std::errc::host_unreachable:
    case std::errc::operation_not_permitted:
    case std::errc::permission_denied:
    case std::errc::connection_refused:
      counters.add(UdpCounter::kTxUnreachable, packets);
      break;
    default:
      counters.add(UdpCounter::kTxFailed, packets);
  }
  return {kRefused};
}

bool UdpEndpoint::build(std::span<const hca::Burst* const> bursts, Identification identification) {
  struct Work {
    const UdpEndpoint& self;
    SendFrames& frames;
    std::span<const hca::Burst* const> bursts;
    Identification identification;
  } work{*this, send_frames(), bursts, identification};
  const auto body = [](void* argument) {
    const Work& now = *static_cast<const Work*>(argument);
    now.frames.build(now.bursts, now.self.shared_->rules, now.self.inlet_->socket().port(),
                     now.identification);
  };
  return shared_->config.guard(body, &work);
}

hca::SendResult UdpEndpoint::send(const hca::Burst& burst) {
  too_long_ = false;
  const hca::SendResult result = try_send(burst);
  if (!too_long_ || !inlet_->allow_fragments()) return result;
  return try_send(burst);
}

io::SendDatagram UdpEndpoint::address(const hca::Burst& burst) {
  const SendFrames& frames = send_frames();
  io::SendDatagram datagram;
  datagram.destination = frames.destination();
  if (source_choice_.must_name_source(burst.path, shared_->sources)) {
    datagram.source = burst.path.sgid;
  }
  if (burst.path.dgid.is_multicast()) datagram.source_ifindex = shared_->config.ifindex;
  if (burst.path.traffic_class != inlet_->socket().tos()) datagram.tos = burst.path.traffic_class;
  datagram.ttl = hops_to_name(burst.path);
  datagram.data = frames.all();
  return datagram;
}

// To name it costs a control message, and a short datagram a thirtieth of its round trip.
std::optional<std::uint8_t> UdpEndpoint::hops_to_name(const hca::Path& path) {
  const std::uint8_t hops = path.hop_limit;
  if (senders_ == Senders::kOnePeer && hops != socket_hops_ &&
      inlet_->socket().set_hop_limit(hops)) {
    socket_hops_ = hops;
  }
  if (hops == 0 || hops == socket_hops_) return std::nullopt;
  return hops;
}

bool UdpEndpoint::same_way(const hca::Burst& first, const hca::Burst& next) const {
  const WireRules& rules = shared_->rules;
  return rules.framing == hca::UdFraming::kBth && first.path == next.path &&
         rules.share_socket(first.destination, next.destination);
}

std::optional<hca::SendResult> UdpEndpoint::send_together(
    std::span<const hca::Burst* const> bursts) {
  // Who looks at single packets is shown them by send().
  const bool watched = shared_->capture != nullptr || shared_->config.taps != nullptr;
  if (segmentation_refused_ || watched) return std::nullopt;
  if (!build(bursts, Identification::kCounted)) return std::nullopt;
  io::SendDatagram datagram = address(*bursts.front());
  datagram.segment_size = static_cast<std::uint16_t>(send_frames().frame_length(0));
  const io::IoResult result = inlet_->socket().send(datagram);
  const bool settled =
      result.status == io::IoStatus::kDone || result.status == io::IoStatus::kWouldBlock;
  if (!settled) return std::nullopt;
  return outcome(result, 0);
}

hca::SendResult UdpEndpoint::try_send(const hca::Burst& burst) {
  const bool as_run = burst.size() > 1 && !segmentation_refused_;
  if (!build(burst, as_run ? Identification::kCounted : Identification::kZero))
    return kUdpEndpointBadMemory;
  SendFrames& frames = send_frames();
  if (shared_->capture) frames.record(*shared_->capture);
  if (shared_->config.taps != nullptr) record_tapped(burst);

  io::SendDatagram datagram = address(burst);
  if (burst.size() == 1) return outcome(inlet_->socket().send(datagram), 1);
  if (!as_run) return send_singly(burst, datagram);
  datagram.segment_size = static_cast<std::uint16_t>(frames.frame_length(0));
  const io::IoResult result = inlet_->socket().send(datagram);
  // A run whose datagrams would have to be fragmented is refused in either way.
  const bool too_long =
      result.status == io::IoStatus::kFailed && result.error == std::errc::message_size;
  if (result.status != io::IoStatus::kSegmentationRefused && !too_long) {
    return outcome(result, burst.size());
  }
  datagram.segment_size = 0;
  if (!build(burst, Identification::kZero)) return kUdpEndpointBadMemory;
  const hca::SendResult singly = send_singly(burst, datagram);
  // What is too long for the path is refused as a run with another word.
  if (singly.outcome != hca::SendOutcome::kRefused) {
    segmentation_refused_ = true;
    shared_->counters.add(UdpCounter::kTxNoSegmentation);
  }
  return singly;
}

// Written at once: the program that it is of may end, and be looked at.
void UdpEndpoint::record_tapped(const hca::Burst& burst) {
  PacketTap* const tap = shared_->config.taps->of_leaving(burst);
  Capture* const capture = tap != nullptr ? tap->capture(burst.path.sgid) : nullptr;
  if (capture == nullptr) return;
  send_frames().record(*capture);
  capture->flush();
}

hca::SendResult UdpEndpoint::send_singly(const hca::Burst& burst, io::SendDatagram& datagram) {
  SendFrames& frames = send_frames();
  hca::SendResult last;
  for (std::size_t i = 0; i < burst.size(); ++i) {
    datagram.data = frames.one(i);
    last = outcome(inlet_->socket().send(datagram), 1);
    if (last.outcome == hca::SendOutcome::kWouldBlock) {
      // A burst is taken whole or not at all. The rest of one that has begun is lost to a full send
      // buffer, as it could be anywhere on its way.
      if (i == 0) return last;
      last = {};
    }
  }
  return last;
}

}  // namespace weft::port
