// SPDX-License-Identifier: Apache-2.0
#include "wan/tunnel_sender.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>

#include "wire/endian.h"
#include "wire/lrh.h"

namespace weft::wan {
namespace {

// Without recovery: frames that the network may still be mixing up.
constexpr std::uint64_t kMixed = 1024;

}  // namespace

std::array<Vl, kLanes> TunnelSender::Options::straight() {
  std::array<Vl, kLanes> egress{};
  for (std::uint8_t vl = 0; vl < kLanes; ++vl)
    egress[vl] = Vl{vl};
  return egress;
}

void TunnelSender::begin(const Agreement& agreement, bool keeps_rate) {
  recovery_ = agreement.recovery;
  block_ = agreement.block;
  for (std::size_t vl = 0; vl < kLanes; ++vl) {
    Lane& lane = lanes_[vl];
    lane.credit = TunnelSendCredit(agreement.capacity[vl]);
    lane.sequence = lane.settled = lane.first_kept = 0;
    lane.offset = 0;
  }
  log_ = SentLog(SendWindow(keeps_rate ? 0 : agreement.receive_room));
}

void TunnelSender::end() {
  for (Lane& lane : lanes_) {
    std::uint64_t unconfirmed = 0;
    if (recovery_) {
      for (const Kept& kept : lane.kept)
        unconfirmed += kept.packet != nullptr ? 1 : 0;
    } else {
      // What has begun still waits.
      unconfirmed = lane.sequence - lane.settled - (lane.offset != 0 ? 1 : 0);
    }
    counters_.add_in_turn(TunnelCounter::kTxUnconfirmed, unconfirmed);
    counters_.add_in_turn(TunnelCounter::kTxSessionLost, lane.queue.size());
    lane.queue.clear();
    lane.kept.clear();
    lane.offset = 0;
  }
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
  Lane& lane = lanes_[options_.egress[vl.value()].value()];
  if (lane.credit.capacity() == 0) return counters_.add_in_turn(TunnelCounter::kTxNoLane);
  lane.queue.push(std::move(packet));
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
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [&](const Lane& lane) { return sendable(lane); });
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
    const Kept* const kept = find(piece);
    if (kept != nullptr && kept->packet != nullptr) {
      if (!joins(*kept->packet)) return true;
      const std::size_t length = fitting(frame, *kept->packet, piece.offset, piece.length);
      const PacketTag tag{.vl = piece.vl,
                          .sequence = static_cast<std::uint32_t>(piece.sequence),
                          .position = kept->position};
      if (length == 0 || !frame.add(tag, *kept->packet, piece.offset, length)) return false;
      counters_.add_in_turn(TunnelCounter::kTxRepeated);
      SentPiece sent = piece;
      sent.length = static_cast<std::uint16_t>(length);
      pieces_.push_back(sent);
      piece.offset = static_cast<std::uint16_t>(piece.offset + length);
      piece.length = static_cast<std::uint16_t>(piece.length - length);
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

link::Packet& TunnelSender::front(Lane& lane) const {
  return recovery_ && lane.offset != 0 ? *lane.kept.back().packet : *lane.queue.front();
}

void TunnelSender::begin_front(Lane& lane) {
  lane.position = static_cast<std::uint32_t>(lane.credit.sent());
  lane.credit.spend(block_.blocks(lane.queue.front()->size()));
  ++lane.sequence;
  if (!recovery_) return;
  ++kept_;
  lane.kept.push_back({.packet = lane.queue.pop(), .position = lane.position, .come = {}});
}

void TunnelSender::end_front(Lane& lane) {
  lane.offset = 0;
  counters_.add_in_turn(TunnelCounter::kTxPackets);
  if (recovery_) return lane.kept.back().packet->hold.release();
  link::PacketPtr sent = lane.queue.pop();
  sent->hold.release();
  leaving_.push(std::move(sent));
}

// The packet at the front, or what fits of it. False: the frame is full.
bool TunnelSender::send_front(Lane& lane, Vl vl, FrameBuilder& frame) {
  link::Packet& packet = front(lane);
  const std::size_t length = fitting(frame, packet, lane.offset, packet.size() - lane.offset);
  if (length == 0) return false;
  if (lane.offset == 0) begin_front(lane);
  const std::uint64_t sequence = lane.sequence - 1;
  const PacketTag tag{
      .vl = vl, .sequence = static_cast<std::uint32_t>(sequence), .position = lane.position};
  [[maybe_unused]] const bool fits = frame.add(tag, packet, lane.offset, length);
  assert(fits);
  if (recovery_) {
    pieces_.push_back({.vl = vl,
                       .offset = static_cast<std::uint16_t>(lane.offset),
                       .length = static_cast<std::uint16_t>(length),
                       .sequence = sequence});
  }
  lane.offset += length;
  if (lane.offset < packet.size()) return false;
  end_front(lane);
  return true;
}

std::uint32_t TunnelSender::sendable_lanes() const {
  std::uint32_t lanes = 0;
  for (std::size_t vl = 0; vl < kLanes; ++vl)
    lanes |= std::uint32_t{sendable(lanes_[vl])} << vl;
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
    const bool sends = sendable(lane);
    if (sends && joins(front(lane))) {
      if (!send_front(lane, Vl{static_cast<std::uint8_t>(turn_)}, frame)) break;
    } else {
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

TunnelSender::Kept* TunnelSender::find(const SentPiece& piece) {
  Lane& lane = lanes_[piece.vl.value()];
  if (piece.sequence < lane.first_kept) return nullptr;
  const std::uint64_t index = piece.sequence - lane.first_kept;
  return index < lane.kept.size() ? &lane.kept[index] : nullptr;
}

void TunnelSender::arrived(const SentPiece& piece) {
  Kept* const kept = find(piece);
  if (kept == nullptr || kept->packet == nullptr) return;
  if (piece.length < kept->packet->size()) {
    add_range(kept->come, piece.offset, std::size_t{piece.offset} + piece.length);
    if (kept->come.back() != ByteRange{0, kept->packet->size()}) return;
  }
  kept->packet.reset();
  --kept_;
  Lane& lane = lanes_[piece.vl.value()];
  for (; !lane.kept.empty() && lane.kept.front().packet == nullptr; ++lane.first_kept)
    lane.kept.pop_front();
}

void TunnelSender::lost(const SentPiece& piece) {
  const Kept* const kept = find(piece);
  if (kept != nullptr && kept->packet != nullptr) again_.push_back(piece);
}

void TunnelSender::expire(Duration spread, Time now) {
  log_.set_spread(spread);
  if (recovery_) log_.expire(now, *this);
}

std::optional<Time> TunnelSender::deadline() const {
  return recovery_ ? log_.deadline() : std::nullopt;
}

}  // namespace weft::wan
