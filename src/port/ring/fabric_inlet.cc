// SPDX-License-Identifier: Apache-2.0
#include "port/ring/fabric_inlet.h"

#include <algorithm>

#include "io/clock.h"
#include "port/ring/raw_frame.h"
#include "wire/link_crc.h"

namespace weft::port {
namespace {

// A value that the daemon may be changing: it is read once, whatever is done with it.
template <class T>
T peek(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}

}  // namespace

// What comes off the faulty line is looked at as if it had just been taken from the adapter.
class FabricInlet::FaultSink final : public FaultyLine::Sink {
 public:
  FaultSink(FabricInlet& inlet, DatagramSink& sink) : inlet_(inlet), sink_(sink) {}
  void frame(const FaultyFrame& frame) override {
    inlet_.hand_on(check_link_packet(frame.bytes), frame.bytes,
                   static_cast<std::uint8_t>(frame.local_port), sink_);
  }

 private:
  FabricInlet& inlet_;
  DatagramSink& sink_;
};

std::vector<int> FabricInlet::descriptors() const {
  std::vector<int> out = shared_->end->descriptors();
  if (faults_) out.push_back(faults_->descriptor());
  return out;
}

std::size_t FabricInlet::receive(DatagramSink& sink, std::size_t budget) {
  ProgramEnd& end = *shared_->end;
  const std::size_t count = std::min(end.arrived(), budget);
  const bool holds = faults_ && faults_->holds_something();
  if (count == 0 && !holds) return 0;
  if (count > 0) {
    const auto hold = shared_->arenas.hold();
    for (std::size_t i = 0; i < count; ++i) {
      if (i + 2 < count) __builtin_prefetch(&end.arrival(i + 2));
      if (i + 1 < count) fetch_payload(end.arrival(i + 1));
      take_in(end.arrival(i), sink);
    }
    end.take(count);
    shared_->counters.add_in_turn(RingCounter::kRxPackets, count);
  }
  if (faults_) {
    FaultSink line(*this, sink);
    if (faults_->holds_something()) faults_->release(io::now(), line);
    port::count(faults_->settle(), shared_->counters);
  }
  sink.end_run();
  return count;
}

bool FabricInlet::find_payload(const ring::ArrivalSlot& slot, Bytes& payload) const {
  // The daemon may change its memory at any time: what is looked at is a copy.
  const std::uint32_t arena = peek(slot.arena);
  const std::uint32_t block = peek(slot.block);
  const std::uint32_t size = peek(slot.payload_size);
  if (block == ring::kNoBlock && size == 0) return true;
  if (block >= ring::kBlocks || size > ring::kBlock) return false;
  const Bytes whole = arena == ring::kDaemonArena   ? shared_->end->daemon_block(block)
                      : arena == shared_->own_arena ? shared_->end->own_block(block)
                                                    : shared_->arenas.block(arena, block);
  if (whole.empty()) return false;
  payload = whole.first(size);
  return true;
}

// The front of what will be copied next: it comes from another processor's cache, and this one
// looks ahead by itself only once it has begun to read.
void FabricInlet::fetch_payload(const ring::ArrivalSlot& slot) const {
  Bytes payload;
  if (!find_payload(slot, payload)) return;
  for (std::size_t at = 0; at < std::min(payload.size(), kAhead); at += ring::kLine)
    __builtin_prefetch(payload.data() + at);
}

void FabricInlet::take_in(const ring::ArrivalSlot& slot, DatagramSink& sink) {
  // Sizes and numbers are looked at in a copy: the daemon may change its memory at any time.
  const std::size_t header_size = slot.header_size;
  const std::size_t trailer_size = slot.trailer_size;
  const std::uint8_t port = slot.port;
  const bool sealed = slot.unsealed == 0;
  const Qpn raw{peek(slot.raw)};
  LinkPieces packet;
  if (!find_payload(slot, packet.payload) || !shared_->has_port(port) ||
      header_size > slot.header.size() || trailer_size > slot.trailer.size()) {
    shared_->counters.add_in_turn(RingCounter::kRxMalformed);
    return;
  }
  packet.header = Bytes(slot.header).first(header_size);
  packet.trailer = Bytes(slot.trailer).first(trailer_size);
  if (raw != Qpn{}) return take_raw(packet, sealed, raw, sink);
  if (shared_->capture || faults_) return take_whole(packet, sealed, port, sink);
  if (!sealed) {
    GrhArea grh;
    const auto in_place = datagram_in_place(packet, lmc(port), frame_, grh);
    if (in_place) return sink.deliver(*in_place);
  }
  const FrameVerdict verdict = join(packet, sealed);
  hand_on(verdict, frame_.all(), port, sink);
}

// Whoever gets it looks at it, and keeps what it has looked at. Faults on purpose are for the
// program's own traffic.
void FabricInlet::take_raw(const LinkPieces& packet, bool sealed, Qpn to, DatagramSink& sink) {
  if (shared_->capture && copy_raw_packet(packet, sealed, frame_)) {
    shared_->capture->record(frame_.all());
  }
  const hca::RawPacket raw{.to = to,
                           .header = packet.header,
                           .payload = packet.payload,
                           .trailer = packet.trailer,
                           .sealed = sealed};
  hca::InDatagram datagram;
  datagram.raw = &raw;
  sink.deliver(datagram);
}

FrameVerdict FabricInlet::join(const LinkPieces& packet, bool sealed) {
  return sealed ? join_link_packet(packet, frame_) : join_unsealed_packet(packet, frame_);
}

// Of a packet for captures and faults, which are outside of the memory that needs no CRCs.
void FabricInlet::take_whole(const LinkPieces& packet, bool sealed, std::uint8_t port,
                             DatagramSink& sink) {
  const FrameVerdict verdict = join(packet, sealed);
  if (verdict == FrameVerdict::kMalformed) return hand_on(verdict, {}, port, sink);
  if (!sealed) wire::seal_link_packet(frame_.all());
  if (shared_->capture) shared_->capture->record(frame_.all());
  if (!faults_) return hand_on(verdict, frame_.all(), port, sink);
  FaultSink line(*this, sink);
  faults_->arrive(frame_.all(), {}, port, io::now(), line);
}

void FabricInlet::hand_on(FrameVerdict verdict, Bytes packet, std::uint8_t port,
                          DatagramSink& sink) {
  switch (verdict) {
    case FrameVerdict::kMalformed:
      shared_->counters.add_in_turn(RingCounter::kRxMalformed);
      return;
    case FrameVerdict::kBadIcrc:
      shared_->counters.add_in_turn(RingCounter::kRxBadIcrc);
      return;
    case FrameVerdict::kGood: {
      GrhArea grh;
      sink.deliver(link_datagram(packet, lmc(port), grh));
      return;
    }
  }
}

}  // namespace weft::port
