// SPDX-License-Identifier: Apache-2.0
#include "wan/tunnel_sender.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>

#include "base/prefetch.h"
#include "link/iba_values.h"
#include "wire/endian.h"
#include "wire/lrh.h"

namespace weft::wan {
namespace {

// Without recovery: frames that the network may still be mixing up.
constexpr std::uint64_t kMixed = 1024;
// Packets that have come are let go of a round trip after they were last looked at, one behind the
// other: so many of them are asked for ahead.
constexpr std::uint64_t kTunnelSenderAhead = 4;
// Packets that a lane has memory to keep when it keeps none.
constexpr std::size_t kTunnelSenderAtRest = 4096;

// What is written to when a packet is let go of.
void ask_for(const link::Packet* packet) {
  constexpr std::size_t kLine = 64;
  if (packet == nullptr) return;
  const auto* const at = reinterpret_cast<const std::byte*>(packet);
  prefetch_to_write(at);
  prefetch_to_write(at + kLine);
}

}  // namespace

std::array<Vl, kLanes> TunnelSender::Options::straight() {
  std::array<Vl, kLanes> egress{};
  for (std::uint8_t vl = 0; vl < kLanes; ++vl)
    egress[vl] = Vl{vl};
  return egress;
}

void TunnelSender::begin(const Agreement& agreement, Pace pace) {
  recovery_ = agreement.recovery;
  block_ = agreement.block;
  for (std::size_t vl = 0; vl < kLanes; ++vl) {
    Lane& lane = lanes_[vl];
    lane.credit = TunnelSendCredit(agreement.capacity[vl]);
    lane.sequence = lane.settled = lane.first_kept = 0;
    lane.offset = 0;
  }
  const bool bounded = pace == Pace::kNone;
  log_ = SentLog(SendWindow(bounded ? agreement.receive_room : 0),
                 pace == Pace::kSet ? std::optional<Restraint>(std::in_place) : std::nullopt);
  slowed_ = 0;
}

void TunnelSender::end() {
  for (Lane& lane : lanes_) {
    std::uint64_t unconfirmed = 0;
    if (recovery_) {
      for (std::size_t i = 0; i < lane.kept.size(); ++i)
        unconfirmed += lane.kept[i].packet != nullptr ? 1 : 0;
    } else {
      unconfirmed = lane.sequence - lane.settled;
      // What has begun still waits, and is counted there, unless the other end has missed its
      // first piece and given it up already.
      if (lane.offset != 0 && unconfirmed != 0) --unconfirmed;
    }
    counters_.add_in_turn(TunnelCounter::kTxUnconfirmed, unconfirmed);
    counters_.add_in_turn(TunnelCounter::kTxSessionLost, lane.queue.size());
    lane.queue.clear();
    waiting_bytes_ = 0;
    lane.kept.clear();
    lane.come.clear();
    lane.offset = 0;
  }
  busy_ = 0;
  kept_ = 0;
  counters_.add_in_turn(TunnelCounter::kTxSessionLost, management_.size());
  management_.clear();
  again_.clear();
  pieces_.clear();
  leaving_.clear();
}

void TunnelSender::accept(link::PacketPtr packet) {
  const Vl vl = packet->vl();
  if (vl == link::kVl15) {
    if (management_.size() >= options_.management_packets) {
      return counters_.add_in_turn(TunnelCounter::kTxVl15Full);
    }
    return management_.push(std::move(packet));
  }
  const Vl egress = options_.egress[vl.value()];
  Lane& lane = lanes_[egress.value()];
  if (lane.credit.capacity() == 0) return counters_.add_in_turn(TunnelCounter::kTxNoLane);
  last_bytes_ = PacketItem::kSize + packet->size();
  waiting_bytes_ += last_bytes_;
  lane.queue.push(std::move(packet));
  busy_ |= link::bit(egress);
}

void TunnelSender::hear(const CreditItem& item) {
  Lane& lane = lanes_[item.credit.vl.value()];
  if (lane.credit.granted(item.credit.limit) == TunnelSendCredit::Heard::kForged) {
    return counters_.add_in_turn(TunnelCounter::kCreditForged);
  }
  const std::int64_t settled = ahead_of(lane.settled, item.settled);
  const auto most = static_cast<std::int64_t>(lane.sequence - lane.settled);
  if (settled > 0 && settled <= most) lane.settled += static_cast<std::uint64_t>(settled);
}

void TunnelSender::acknowledged(std::uint64_t before,
                                std::span<const AcknowledgeItem::Range> ranges, Time now) {
  if (!recovery_) return;
  if (!log_.acknowledged(before, ranges, now, *this)) {
    counters_.add_in_turn(TunnelCounter::kAcknowledgeForged);
  }
  log_.expire(now, *this);
  if (!log_.restraint()) return;
  const std::uint64_t slowed = log_.restraint()->lowered();
  counters_.add_in_turn(TunnelCounter::kTxSlowed, slowed - std::exchange(slowed_, slowed));
}

std::uint32_t TunnelSender::packets(Vl vl) const {
  return static_cast<std::uint32_t>(lanes_[vl.value()].sequence);
}

bool TunnelSender::sendable(const Lane& lane) const {
  if (lane.offset != 0) return true;  // it has begun, and paid
  if (kept_ >= options_.kept_packets) return false;
  return !lane.queue.empty() && lane.credit.allows(block_.blocks(lane.queue.front()->size()));
}

bool TunnelSender::has_work() const {
  if (!log_.has_room_for_packets()) return false;
  if (!management_.empty()) return true;
  if (!log_.window_is_open()) return false;
  if (!again_.empty()) return true;
  return sendable_lanes() != 0;
}

// A packet is cut only where no frame could hold it whole.
std::size_t TunnelSender::fitting(const FrameBuilder& frame, const link::Packet& packet,
                                  std::size_t offset, std::size_t length) const {
  const bool whole = offset == 0 && length == packet.size();
  const std::size_t head = whole ? PacketItem::kSize : PacketItem::kSegmentSize;
  if (head + length > frame.room() && head + length <= frame.most_room()) return 0;
  return frame.fitting(length, whole);
}

// Whether what is of this class may be in the frame that is put together.
bool TunnelSender::joins(std::uint8_t traffic_class) {
  if (!class_) class_ = traffic_class;
  return class_ == traffic_class;
}

bool TunnelSender::joins(const link::Packet& packet) {
  if (one_class_) return true;
  const auto sl = wire::load_u8(packet.header().data() + wire::LrhView::kSlByte) >> 4;
  return joins(options_.classes.of_sl[static_cast<std::size_t>(sl)]);
}

bool TunnelSender::fill_again(FrameBuilder& frame) {
  while (!again_.empty()) {
    SentPiece& piece = again_.front();
    const Kept* const kept = find(lanes_[piece.vl.value()], piece.sequence);
    if (kept != nullptr && kept->packet != nullptr) {
      if (!joins(*kept->packet)) return true;
      const std::size_t length = fitting(frame, *kept->packet, piece.offset, piece.length);
      const PacketTag tag{.vl = piece.vl,
                          .sequence = static_cast<std::uint32_t>(piece.sequence),
                          .position = kept->position};
      if (length == 0 || !frame.add(tag, *kept->packet, piece.offset, length)) return false;
      counters_.add_in_turn(TunnelCounter::kTxRepeated);
      SentPiece sent = piece;
      sent.length = static_cast<std::uint32_t>(length);
      pieces_.push_back(sent);
      piece.offset = static_cast<std::uint16_t>(piece.offset + length);
      piece.length -= sent.length;
      if (piece.length != 0) return false;
    }
    again_.pop_front();
  }
  return true;
}

bool TunnelSender::fill_management(FrameBuilder& frame) {
  while (!management_.empty()) {
    if (!joins(options_.classes.control)) return true;
    if (!frame.add_management(*management_.front())) return false;
    counters_.add_in_turn(TunnelCounter::kTxVl15);
    leaving_.push(management_.pop());
  }
  return true;
}

link::PacketPtr TunnelSender::pop(Lane& lane) {
  link::PacketPtr packet = lane.queue.pop();
  waiting_bytes_ -= PacketItem::kSize + packet->size();
  return packet;
}

link::Packet& TunnelSender::front(Lane& lane) const {
  return recovery_ && lane.offset != 0 ? *lane.kept.back().packet : *lane.queue.front();
}

void TunnelSender::begin_front(Lane& lane, std::size_t size) {
  lane.position = static_cast<std::uint32_t>(lane.credit.sent());
  lane.credit.spend(block_.blocks(size));
  ++lane.sequence;
  if (!recovery_) return;
  ++kept_;
  lane.kept.push({.packet = pop(lane), .position = lane.position});
}

void TunnelSender::end_front(Lane& lane, Vl vl) {
  lane.offset = 0;
  if (recovery_) {
    lane.kept.back().packet->hold.release();
  } else {
    link::PacketPtr sent = pop(lane);
    sent->hold.release();
    leaving_.push(std::move(sent));
  }
  if (lane.queue.empty()) busy_ &= ~std::uint32_t{link::bit(vl)};
}

// Whole packets, one behind the other, which are much cheaper together. False: none.
bool TunnelSender::send_whole(Lane& lane, Vl vl, FrameBuilder& frame, std::size_t most) {
  if (lane.offset != 0) return false;
  const std::uint64_t first = lane.sequence;
  const std::uint64_t begin = lane.credit.sent();
  std::uint64_t position = begin;
  std::size_t count = 0;
  std::size_t bytes = 0;
  most = std::min(most, options_.kept_packets - std::min(kept_, options_.kept_packets));
  for (; count < most && !lane.queue.empty(); ++count) {
    link::Packet& packet = *lane.queue.front();
    const std::size_t size = packet.size();
    const std::uint64_t blocks = block_.blocks(size);
    if (PacketItem::kSize + size > frame.room()) break;
    if (!lane.credit.allows(position - begin + blocks) || !joins(packet)) break;
    const auto low = static_cast<std::uint32_t>(position);
    frame.add_whole(
        {.vl = vl, .sequence = static_cast<std::uint32_t>(first + count), .position = low}, packet);
    position += blocks;
    bytes += size;
    packet.hold.release();
    link::PacketPtr sent = lane.queue.pop();
    if (recovery_) {
      lane.kept.push({.packet = std::move(sent), .position = low});
    } else {
      leaving_.push(std::move(sent));
    }
  }
  if (count == 0) return false;
  lane.credit.spend(position - begin);
  lane.sequence += count;
  waiting_bytes_ -= bytes + count * PacketItem::kSize;
  if (lane.queue.empty()) busy_ &= ~std::uint32_t{link::bit(vl)};
  counters_.add_in_turn(TunnelCounter::kTxPackets, count);
  if (!recovery_) return true;
  kept_ += count;
  note_sent(vl, first, count, bytes);
  return true;
}

// What fits of the packet at the front. False: the frame is full.
bool TunnelSender::send_piece(Lane& lane, Vl vl, FrameBuilder& frame) {
  link::Packet& packet = front(lane);
  const std::size_t length = fitting(frame, packet, lane.offset, packet.size() - lane.offset);
  if (length == 0) return false;
  if (lane.offset == 0) begin_front(lane, packet.size());
  const std::uint64_t sequence = lane.sequence - 1;
  const PacketTag tag{
      .vl = vl, .sequence = static_cast<std::uint32_t>(sequence), .position = lane.position};
  [[maybe_unused]] const bool fits = frame.add(tag, packet, lane.offset, length);
  assert(fits);
  if (recovery_) {
    pieces_.push_back({.vl = vl,
                       .offset = static_cast<std::uint16_t>(lane.offset),
                       .length = static_cast<std::uint32_t>(length),
                       .sequence = sequence});
  }
  lane.offset += length;
  if (lane.offset < packet.size()) return false;
  counters_.add_in_turn(TunnelCounter::kTxPackets);
  end_front(lane, vl);
  return true;
}

// Whole packets of a lane that leave one behind the other are one piece.
void TunnelSender::note_sent(Vl vl, std::uint64_t first, std::size_t count, std::size_t bytes) {
  const auto packets = static_cast<std::uint16_t>(count);
  const auto length = static_cast<std::uint32_t>(bytes);
  if (!pieces_.empty()) {
    SentPiece& last = pieces_.back();
    if (last.packets != 0 && last.vl == vl && last.sequence + last.packets == first) {
      last.packets = static_cast<std::uint16_t>(last.packets + packets);
      last.length += length;
      return;
    }
  }
  pieces_.push_back({.vl = vl, .packets = packets, .length = length, .sequence = first});
}

std::uint32_t TunnelSender::sendable_lanes() const {
  std::uint32_t lanes = 0;
  for (std::uint32_t rest = busy_; rest != 0; rest &= rest - 1) {
    if (sendable(lanes_[static_cast<std::size_t>(std::countr_zero(rest))])) lanes |= rest & -rest;
  }
  return lanes;
}

// Lanes take turns, packet by packet; one that has no credit holds up no other. What cannot be sent
// now cannot be so before news has come. A lane whose packet is of another class than the frame
// begins the next one.
void TunnelSender::fill_data(FrameBuilder& frame) {
  std::uint32_t lanes = sendable_lanes();
  std::optional<std::size_t> begins_next;
  while (lanes != 0) {
    const std::uint32_t rest = lanes >> turn_ << turn_;
    turn_ = static_cast<std::size_t>(std::countr_zero(rest != 0 ? rest : lanes));
    Lane& lane = lanes_[turn_];
    const Vl vl{static_cast<std::uint8_t>(turn_)};
    const std::size_t most = std::has_single_bit(lanes) ? SIZE_MAX : 1;
    const bool sent = send_whole(lane, vl, frame, most);
    const bool sends = sent || sendable(lane);
    if (!sent && sends && joins(front(lane))) {
      if (!send_piece(lane, vl, frame)) break;
    } else if (!sent) {
      if (sends && !begins_next) begins_next = turn_;
      lanes &= ~(std::uint32_t{1} << turn_);
    }
    turn_ = (turn_ + 1) % kLanes;
  }
  turn_ = begins_next.value_or(turn_);
}

std::uint8_t TunnelSender::fill(FrameBuilder& frame, std::optional<std::uint8_t> traffic_class) {
  class_ = traffic_class;
  if (log_.has_room_for_packets()) {
    const bool data = log_.window_is_open();
    const bool has_room = (!data || fill_again(frame)) && fill_management(frame);
    if (has_room && data) fill_data(frame);
  }
  return class_.value_or(options_.classes.control);
}

void TunnelSender::leaves(FrameHead& head, Time now) {
  head.sequence = log_.next();
  const std::uint64_t open = recovery_ ? log_.open() : std::min(head.sequence, kMixed);
  head.open = static_cast<std::uint32_t>(open);
  log_.sent(pieces_, now);
  pieces_.clear();
}

TunnelSender::Kept* TunnelSender::find(Lane& lane, std::uint64_t sequence) {
  if (sequence < lane.first_kept) return nullptr;
  const std::uint64_t index = sequence - lane.first_kept;
  return index < lane.kept.size() ? &lane.kept[index] : nullptr;
}

// Whether all of the packet has come now.
bool TunnelSender::completes(Lane& lane, const SentPiece& piece) {
  const Kept* const kept = find(lane, piece.sequence);
  if (kept == nullptr || kept->packet == nullptr) return false;
  const ByteRange all{0, kept->packet->size()};
  if (piece.length == all.end) return true;
  auto& come = lane.come[piece.sequence];
  add_range(come, piece.offset, std::size_t{piece.offset} + piece.length);
  return come.back() == all;
}

// The packets before that have come; so have some behind them, perhaps.
void TunnelSender::forget_before(Lane& lane, std::uint64_t end) {
  for (; !lane.kept.empty(); ++lane.first_kept) {
    Kept& first = lane.kept.front();
    if (lane.first_kept >= end && first.packet != nullptr) break;
    if (kTunnelSenderAhead < lane.kept.size()) ask_for(lane.kept[kTunnelSenderAhead].packet.get());
    if (first.packet != nullptr) {
      first.packet.reset();
      --kept_;
    }
    lane.kept.pop_front();
  }
}

void TunnelSender::arrived(const SentPiece& piece) {
  Lane& lane = lanes_[piece.vl.value()];
  if (piece.packets == 0 && !completes(lane, piece)) return;
  const std::uint64_t end = piece.sequence + std::max<std::uint64_t>(piece.packets, 1);
  if (piece.sequence <= lane.first_kept) {
    forget_before(lane, end);
  } else {
    for (std::uint64_t sequence = piece.sequence; sequence < end; ++sequence) {
      Kept* const kept = find(lane, sequence);
      if (kept == nullptr || kept->packet == nullptr) continue;
      kept->packet.reset();
      --kept_;
    }
  }
  lane.kept.rest(kTunnelSenderAtRest);
  if (lane.come.empty()) return;
  lane.come.erase(lane.come.begin(), lane.come.lower_bound(lane.first_kept));
}

void TunnelSender::lost(const SentPiece& piece) {
  Lane& lane = lanes_[piece.vl.value()];
  const std::uint64_t end = piece.sequence + std::max<std::uint64_t>(piece.packets, 1);
  for (std::uint64_t sequence = piece.sequence; sequence < end; ++sequence) {
    const Kept* const kept = find(lane, sequence);
    if (kept == nullptr || kept->packet == nullptr) continue;
    SentPiece again = piece;
    if (piece.packets != 0) {
      again.packets = 0;
      again.length = static_cast<std::uint32_t>(kept->packet->size());
      again.sequence = sequence;
    }
    again_.push_back(again);
  }
}

void TunnelSender::expire(Duration spread, Time now) {
  log_.set_spread(spread);
  if (recovery_) log_.expire(now, *this);
}

std::optional<Time> TunnelSender::deadline() const {
  return recovery_ ? log_.deadline() : std::nullopt;
}

}  // namespace weft::wan
