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

void RingEnd::lied(std::string_view what) {
  if (!lie_) lie_ = what;
}

void RingEnd::set_sleeps(std::uint32_t sleeps) {
  if (sleeps == sleeps_) return;
  sleeps_ = sleeps;
  ours_.sleeps.store(sleeps);
}

std::uint64_t RingEnd::room() {
  if (lie_) return 0;
  const std::uint64_t read = theirs_.read.load();
  if (written_ - read > written_ - their_read_) {
    lied("its count of bytes read is out of range");
    return 0;
  }
  their_read_ = read;
  return kRingBytes - (written_ - read);
}

// Said before the last look, so that the other side, which looks after it has read, wakes this one.
bool RingEnd::await_room(std::uint64_t wanted) {
  if (room() >= wanted) return true;
  set_sleeps(sleeps_ | kUntilRead);
  return room() >= wanted;
}

bool RingEnd::has_room() {
  const bool room = await_room(kLargestRecord + kSpare);
  if (room) set_sleeps(sleeps_ & ~std::uint32_t{kUntilRead});
  return room;
}

std::optional<MutableBytes> RingEnd::reserve(RecordKind kind, std::size_t size) {
  const std::size_t wanted = record_bytes(size);
  const std::size_t to_end = kRingBytes - written_ % kRingBytes;
  const std::size_t skipped = wanted > to_end ? to_end : 0;
  if (room() < wanted + skipped) return std::nullopt;
  const auto write_head = [this](RecordKind what, std::size_t bytes) {
    const RecordHead head{.kind = static_cast<std::uint32_t>(what),
                          .size = static_cast<std::uint32_t>(bytes)};
    std::memcpy(ours_.bytes.data() + written_ % kRingBytes, &head, sizeof head);
  };
  if (skipped != 0) {
    write_head(RecordKind::kSkip, skipped - sizeof(RecordHead));
    written_ += skipped;
  }
  write_head(kind, size);
  const std::size_t at = written_ % kRingBytes + sizeof(RecordHead);
  written_ += wanted;
  return MutableBytes(ours_.bytes).subspan(at, size);
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

bool RingEnd::has_more() {
  if (lie_) return false;
  const std::uint64_t written = theirs_.written.load();
  if (written - read_ > kRingBytes || written - read_ < their_written_ - read_ ||
      written % kGrain != 0) {
    lied("its count of bytes written is out of range");
    return false;
  }
  their_written_ = written;
  return written != read_;
}

std::optional<RingEnd::Record> RingEnd::next() {
  while (!lie_ && (their_written_ != read_ || has_more())) {
    const std::size_t at = read_ % kRingBytes;
    const auto kind = static_cast<RecordKind>(peek(theirs_.bytes.data() + at));
    const std::size_t size = peek(theirs_.bytes.data() + at + sizeof(std::uint32_t));
    const std::uint64_t there = std::min<std::uint64_t>(their_written_ - read_, kRingBytes - at);
    if (size > kRingBytes || record_bytes(size) > there) {
      lied("a record is longer than what it has written, or than the ring");
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
                      .bytes = Bytes(theirs_.bytes).subspan(at + sizeof(RecordHead), size)};
    }
    lied("a record is of no known kind, or of a size that its kind cannot have");
  }
  return std::nullopt;
}

void RingEnd::taken() {
  read_ += taking_;
  taking_ = 0;
}

bool RingEnd::publish() {
  std::uint32_t news = 0;
  if (written_ != shown_written_) news |= kUntilWritten;
  if (read_ != shown_read_) news |= kUntilRead;
  if (news == 0) return false;
  shown_written_ = written_;
  shown_read_ = read_;
  ours_.written.store(written_);
  ours_.read.store(read_);
  return (theirs_.sleeps.load() & news) != 0;
}

bool RingEnd::sleep() {
  set_sleeps(sleeps_ | kUntilWritten);
  if (!has_more()) return true;
  look();
  return false;
}

}  // namespace weft::carrier
