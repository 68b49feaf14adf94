// SPDX-License-Identifier: Apache-2.0
#include "carrier/ring_end.h"

#include <algorithm>
#include <cstring>

namespace weft::carrier {
namespace {

constexpr std::size_t kGrain = 8;
// Flow-control packets are always to be taken: packets leave them that much.
constexpr std::size_t kSpare = 8192;

constexpr std::size_t record_bytes(std::size_t size) {
  return sizeof(RecordHead) + (size + kGrain - 1) / kGrain * kGrain;
}

// What is left before the end of the ring may have to be skipped.
constexpr std::size_t kLargestRecord = 2 * record_bytes(link::kLongestPacket);

// A value that the other side may be changing: it is read once, whatever is done with it.
std::uint32_t peek(const std::byte* word) {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(word), __ATOMIC_RELAXED);
}

}  // namespace

RingEnd::RingEnd(RingMemory& ours, const RingMemory& theirs) : ring_(ours, theirs, kGrain) {
}

bool RingEnd::has_room() {
  return ring_.await_room(kLargestRecord + kSpare);
}

std::optional<MutableBytes> RingEnd::reserve(RecordKind kind, std::size_t size) {
  const std::size_t wanted = record_bytes(size);
  const std::size_t to_end = ring_.place().size();
  const std::size_t skipped = wanted > to_end ? to_end : 0;
  if (ring_.room() < wanted + skipped) return std::nullopt;
  const auto write_head = [this](RecordKind what, std::size_t bytes) {
    const RecordHead head{.kind = static_cast<std::uint32_t>(what),
                          .size = static_cast<std::uint32_t>(bytes)};
    std::memcpy(ring_.place().data(), &head, sizeof head);
  };
  if (skipped != 0) {
    write_head(RecordKind::kSkip, skipped - sizeof(RecordHead));
    ring_.wrote(skipped);
  }
  write_head(kind, size);
  const MutableBytes place = ring_.place().subspan(sizeof(RecordHead), size);
  ring_.wrote(wanted);
  return place;
}

bool RingEnd::put(const link::Packet& packet) {
  const auto place = reserve(RecordKind::kPacket, packet.size());
  if (place) packet.copy_to(*place);
  return place.has_value();
}

bool RingEnd::put(link::SignalBytes flow_control) {
  const auto place = reserve(RecordKind::kFlowControl, flow_control.size());
  if (place) std::copy(flow_control.begin(), flow_control.end(), place->begin());
  return place.has_value();
}

std::optional<RingEnd::Record> RingEnd::next() {
  while (!ring_.lie() && (!ring_.has_come().empty() || ring_.has_more())) {
    const Bytes there = ring_.has_come();
    const auto kind = static_cast<RecordKind>(peek(there.data()));
    const std::size_t size = peek(there.data() + sizeof(std::uint32_t));
    if (size > kRingBytes || record_bytes(size) > there.size()) {
      ring_.lied("a record is longer than what it has written, or than the ring");
      break;
    }
    taking_ = record_bytes(size);
    switch (kind) {
      case RecordKind::kSkip:
        taken();
        continue;
      case RecordKind::kPacket:
        if (size < link::kShortestPacket || size > link::kLongestPacket) break;
        [[fallthrough]];
      case RecordKind::kFlowControl:
        if (kind == RecordKind::kFlowControl && size != wire::FlowControl::kSize) break;
        return Record{.is_packet = kind == RecordKind::kPacket,
                      .bytes = there.subspan(sizeof(RecordHead), size)};
    }
    ring_.lied("a record is of no known kind, or of a size that its kind cannot have");
  }
  return std::nullopt;
}

void RingEnd::taken() {
  ring_.taken(taking_);
  taking_ = 0;
}

}  // namespace weft::carrier
