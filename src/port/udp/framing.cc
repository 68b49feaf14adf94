// SPDX-License-Identifier: Apache-2.0
#include "port/udp/framing.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "port/udp/capture.h"
#include "port/udp/multicast.h"
#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/endian.h"
#include "wire/ip.h"
#include "wire/opcode.h"

namespace weft::port {
namespace {

constexpr std::size_t kLargestMessage = 4096;
constexpr std::size_t kLargestFrame =
    hca::OutPacket::kMaxHeader + kLargestMessage + 3 + kIcrcBytes;  // pad and ICRC
constexpr std::uint8_t kDefaultHops = 64;
// Up to here a packet is laid out, and its ICRC computed once all others of its run are, too: what
// has just been written in parts is slow to read. Longer payload is copied while its part of the
// ICRC is computed: that costs little more than to compute it, and the kernel copies one stretch
// faster than pieces that follow headers.
constexpr std::size_t kCopiedFirst = 1024;
constexpr std::size_t kSealedLast = hca::OutPacket::kMaxHeader + kCopiedFirst + kIcrcBytes;

// What one call may have (IOV_MAX). Beyond, everything is copied.
constexpr std::size_t kMostPieces = 1024;

// Whether the program is to see the network header of a packet: before messages of datagram queue
// pairs only (IBA 11.4.1.2). To make one costs a short message of a connection a fiftieth of its
// round trip.
bool lands_in_message(Bytes frame) {
  return wire::info(static_cast<wire::Opcode>(frame.front())).transport == wire::Transport::ud;
}

Bytes as_bytes(const iovec& piece) {
  return {static_cast<const std::byte*>(piece.iov_base), piece.iov_len};
}

}  // namespace

const wire::IcrcFlow& IcrcFlowCache::get(const Gid& source, const Gid& destination,
                                         std::uint16_t source_port,
                                         std::uint16_t destination_port) {
  if (!flow_ || source != source_ || destination != destination_ || source_port != source_port_ ||
      destination_port != destination_port_) {
    source_ = source;
    destination_ = destination;
    source_port_ = source_port;
    destination_port_ = destination_port;
    flow_.emplace(source, destination, source_port, destination_port);
  }
  return *flow_;
}

// Each piece costs the kernel some 25 ns, so neighbours are joined: a run of frames is one.
void SendFrames::add(Bytes piece) {
  if (!pieces_.empty()) {
    iovec& last = pieces_.back();
    if (static_cast<const std::byte*>(last.iov_base) + last.iov_len == piece.data()) {
      last.iov_len += piece.size();
      return;
    }
  }
  // sendmsg only reads, but its iovec has no way to say so.
  pieces_.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
}

void SendFrames::build(std::span<const hca::Burst* const> bursts, const WireRules& rules,
                       std::uint16_t source_port, Identification identification) {
  const hca::Burst& first = *bursts.front();
  destination_.address = first.path.dgid;
  destination_.port = rules.port_of(first.destination);
  destination_.scope_id = first.path.scope_id;
  source_ = first.path.sgid;
  source_port_ = source_port;
  traffic_class_ = first.path.traffic_class;
  hop_limit_ = first.path.hop_limit;
  pieces_.clear();
  staged_ = 0;
  unsealed_ = false;
  count_ = 0;
  counted_ = rules.counts_identification && identification == Identification::kCounted;

  if (rules.framing == hca::UdFraming::kBare) {
    for (const hca::Burst* const burst : bursts) {
      for (const hca::OutPacket& packet : burst->packets())
        lengths_[count_++] = packet.payload_length;
      refer_to(*burst);
    }
    return;
  }
  const wire::IcrcFlow& flow =
      flows_.get(source_, destination_.address, source_port_, destination_.port);
  for (const hca::Burst* const burst : bursts)
    stage(*burst, flow);
  if (unsealed_) seal(flow);
  add(Bytes(staging_).first(staged_));
}

// Computes the ICRC of all frames that have none yet.
void SendFrames::seal(const wire::IcrcFlow& flow) {
  std::optional<wire::IcrcRun> run;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const MutableBytes frame = MutableBytes(staging_).subspan(at, lengths_[i]);
    at += lengths_[i];
    if (frame.size() > kSealedLast) continue;
    const Bytes covered = frame.first(frame.size() - kIcrcBytes);
    if (!run || !run->is_for(frame.size(), covered.size())) {
      run.emplace(flow, frame.size(), covered.size());
    }
    wire::store_le32(frame.last(kIcrcBytes).data(), run->icrc(covered, identification_of(i)));
  }
}

// The messages where they are, as long as one call takes so many pieces.
void SendFrames::refer_to(const hca::Burst& burst) {
  std::size_t pieces = 0;
  for (const hca::OutPacket& packet : burst.packets())
    pieces += packet.piece_count;
  for (const hca::OutPacket& packet : burst.packets()) {
    for (const Bytes piece : burst.pieces(packet))
      add(pieces > kMostPieces ? stage(piece) : piece);
  }
}

Bytes SendFrames::stage(Bytes piece) {
  const MutableBytes copy = MutableBytes(staging_).subspan(staged_, piece.size());
  staged_ += piece.size();
  std::copy(piece.begin(), piece.end(), copy.begin());
  return copy;
}

// Every frame is copied, so that the kernel gets one stretch of memory: it copies that faster than
// many pieces by as much as the copy costs.
void SendFrames::stage(const hca::Burst& burst, const wire::IcrcFlow& flow) {
  std::optional<wire::IcrcRun> run;
  for (const hca::OutPacket& packet : burst.packets()) {
    const std::size_t length = packet.length() + kIcrcBytes;
    const MutableBytes frame = MutableBytes(staging_).subspan(staged_, length);
    const Bytes header = Bytes(packet.header).first(packet.header_length);
    // As many bytes each time, without a call; what is no header is written over.
    std::memcpy(staging_.data() + staged_, packet.header.data(), hca::OutPacket::kMaxHeader);
    std::byte* at = frame.data() + header.size();
    if (length <= kSealedLast) {
      for (const Bytes piece : burst.pieces(packet))
        at = std::copy(piece.begin(), piece.end(), at);
      std::fill_n(at, packet.pad, std::byte{0});
      unsealed_ = true;
    } else {
      if (!run || !run->is_for(length, header.size())) run.emplace(flow, length, header.size());
      std::uint32_t crc = run->after_headers(header, identification_of(count_));
      for (const Bytes piece : burst.pieces(packet)) {
        crc = wire::crc32_copy(crc, at, piece);
        at += piece.size();
      }
      std::fill_n(at, packet.pad, std::byte{0});
      if (packet.pad > 0) crc = wire::crc32_update(crc, {at, packet.pad});
      wire::store_le32(frame.last(kIcrcBytes).data(), wire::crc32_finish(crc));
    }
    lengths_[count_++] = length;
    staged_ += length;
  }
}

std::span<const iovec> SendFrames::one(std::size_t frame) {
  one_frame_.clear();
  std::size_t skip = std::accumulate(
      lengths_.begin(), lengths_.begin() + static_cast<std::ptrdiff_t>(frame), std::size_t{0});
  std::size_t wanted = lengths_[frame];
  for (const iovec& piece : pieces_) {
    if (skip >= piece.iov_len) {
      skip -= piece.iov_len;
      continue;
    }
    const Bytes part = as_bytes(piece).subspan(skip, std::min(piece.iov_len - skip, wanted));
    skip = 0;
    wanted -= part.size();
    one_frame_.push_back({const_cast<std::byte*>(part.data()), part.size()});
    if (wanted == 0) break;
  }
  return one_frame_;
}

void SendFrames::record(Capture& capture) {
  std::vector<Bytes> payload;
  for (std::size_t frame = 0; frame < count_; ++frame) {
    payload.clear();
    for (const iovec& piece : one(frame))
      payload.push_back(as_bytes(piece));
    capture.record({source_, destination_.address, source_port_, destination_.port, traffic_class_,
                    hop_limit_ != 0 ? hop_limit_ : kDefaultHops, identification_of(frame)},
                   payload);
  }
}

Bytes first_frame(Bytes run, const io::ReceivedDatagram& datagram) {
  return datagram.segment_size == 0
             ? run
             : run.first(std::min<std::size_t>(run.size(), datagram.segment_size));
}

bool icrc_is_right(Bytes frame, const wire::IcrcFlow& flow, const WireRules& rules) {
  return is_right(flow.check(frame), rules);
}

bool is_right(wire::IcrcVerdict verdict, const WireRules& rules) {
  // A socket does not tell the Identification: what fits one of them is taken.
  return verdict == wire::IcrcVerdict::good ||
         (rules.counts_identification && verdict == wire::IcrcVerdict::other_identification);
}

ReceivedFrames::ReceivedFrames(Bytes bytes, const io::ReceivedDatagram& datagram,
                               std::uint16_t local_port, const WireRules& rules)
    : bytes_(bytes),
      datagram_(datagram),
      local_port_(local_port),
      rules_(rules),
      segment_(datagram.segment_size != 0 ? datagram.segment_size
                                          : std::max<std::size_t>(bytes.size(), 1)) {
}

std::size_t ReceivedFrames::count() const {
  return std::max<std::size_t>((bytes_.size() + segment_ - 1) / segment_, 1);
}

std::array<std::byte, hca::kGrhArea> ReceivedFrames::network_header(std::size_t length) const {
  const wire::Datagram header{.src = datagram_.source.address,
                              .dst = datagram_.destination,
                              .src_port = datagram_.source.port,
                              .dst_port = local_port_,
                              .traffic_class = datagram_.tos,
                              .hop_limit = datagram_.ttl,
                              .payload_size = length};
  std::array<std::byte, hca::kGrhArea> area{};
  if (rules_.framing == hca::UdFraming::kBare && header.is_ipv4()) {
    // Wire `bare`: IPv4 header in bytes 12-31 and the UDP header in 32-39, as they came.
    const std::span<std::byte, hca::kGrhArea> all(area);
    wire::write_ipv4_header(all.subspan<12, wire::kIpv4HeaderSize>(), header);
    wire::write_udp_header(all.subspan<32, wire::kUdpHeaderSize>(), header);
  } else {
    wire::write_grh_area(area, header);
  }
  return area;
}

void ReceivedFrames::record(Capture& capture, Bytes frame, const wire::IcrcFlow& flow) const {
  capture.record({datagram_.source.address, datagram_.destination, datagram_.source.port,
                  local_port_, datagram_.tos, datagram_.ttl, identification(frame, flow)},
                 {&frame, 1});
}

// A right ICRC tells the Identification that a socket does not.
std::uint16_t ReceivedFrames::identification(Bytes frame, const wire::IcrcFlow& flow) const {
  if (!rules_.counts_identification || !flow.is_ipv4() ||
      frame.size() < wire::Bth::kSize + kIcrcBytes) {
    return 0;
  }
  const Bytes covered = frame.first(frame.size() - kIcrcBytes);
  const std::uint32_t carried = wire::load_le32(frame.last(kIcrcBytes).data());
  return wire::identification_difference(carried ^ flow.icrc(covered), frame.size()).value_or(0);
}

void ReceivedFrames::deliver(DatagramSink& sink, UdpCounters& counters, IcrcFlowCache& flows,
                             Capture* capture, bool first_is_good) const {
  const bool has_headers = rules_.framing == hca::UdFraming::kBth;
  hca::InDatagram in;
  in.source = datagram_.source.address;
  in.destination = datagram_.destination;
  in.scope_id = datagram_.source.scope_id;
  in.source_qpn = Qpn{datagram_.source.port};
  in.traffic_class = datagram_.tos;
  in.multicast = datagram_.destination.is_multicast();
  const wire::IcrcFlow& flow =
      flows.get(in.source, in.destination, datagram_.source.port, local_port_);

  std::array<std::byte, hca::kGrhArea> header{};
  std::size_t header_is_for = ~std::size_t{0};
  std::optional<wire::IcrcRun> run;
  std::size_t at = 0;
  do {
    const Bytes frame = bytes_.subspan(at, std::min(segment_, bytes_.size() - at));
    at += segment_;
    if (capture != nullptr) record(*capture, frame, flow);
    if (has_headers && frame.size() < wire::Bth::kSize + kIcrcBytes) {
      counters.add(UdpCounter::kRxRunt);
      continue;
    }
    if (frame.size() > (has_headers ? kLargestFrame : kLargestMessage)) {
      counters.add(UdpCounter::kRxOversized);
      continue;
    }
    const bool verified = first_is_good && frame.data() == bytes_.data();
    if (has_headers && !verified) {
      const std::size_t covered = frame.size() - kIcrcBytes;
      if (!run || !run->is_for(frame.size(), covered)) run.emplace(flow, frame.size(), covered);
      if (!is_right(run->check(frame), rules_)) {
        counters.add(UdpCounter::kRxBadIcrc);
        continue;
      }
    }
    // The datagrams of a run are of one length, so this is made once or twice.
    const bool shows_header = !has_headers || lands_in_message(frame);
    if (shows_header && header_is_for != frame.size()) {
      header = network_header(frame.size());
      header_is_for = frame.size();
    }
    in.network_header = shows_header ? &header : nullptr;
    in.transport = has_headers ? frame.first(frame.size() - kIcrcBytes) : frame;
    sink.deliver(in);
  } while (at < bytes_.size());
}

}  // namespace weft::port
