// SPDX-License-Identifier: Apache-2.0
#include "wan/tunnel_receiver.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "link/channel.h"
#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

// Where packets came to they hold up the memory of others that came with them: so many times their
// own at most. A copy takes a block of its own, of which a packet of 2 KiB uses half.
constexpr std::uint64_t kHeldUp = 2;

// Of a packet, all before its VCRC, in one piece or in two (IBA 7.8.2).
bool vcrc_good(Bytes front, Bytes rest, Bytes vcrc) {
  const bool together = front.data() + front.size() == rest.data();
  std::uint16_t state = wire::kVcrcPreset;
  if (together) {
    state = wire::crc16_update(state, Bytes(front.data(), front.size() + rest.size()));
  } else {
    state = wire::crc16_update(wire::crc16_update(state, front), rest);
  }
  return wire::load_le16(vcrc.data()) == wire::crc16_finish(state);
}

}  // namespace

void TunnelReceiver::begin(bool recovery) {
  recovery_ = recovery;
  for (std::uint8_t vl = 0; vl < kLanes; ++vl) {
    const Fifo& fifo = share_.fifo(Vl{vl});
    lanes_[vl] = Lane();
    lanes_[vl].credit =
        TunnelReceiveCredit(fifo.capacity(), fifo.block().blocks(link::kLongestPacket));
  }
}

void TunnelReceiver::end() {
  drop_delivered();
  for (std::uint8_t vl = 0; vl < kLanes; ++vl) {
    Lane& lane = lanes_[vl];
    for (const auto& [sequence, waiting] : lane.waiting)
      share_.fifo(Vl{vl}).give_up(waiting.blocks);
    counters_.add_in_turn(TunnelCounter::kRxSessionLost, lane.waiting.size());
    lane.waiting.clear();
    lane.spare.reset();
  }
}

void TunnelReceiver::drop_delivered() {
  stays_ = false;
  for (std::uint8_t vl = 0; vl < kLanes; ++vl)
    counters_.add_in_turn(TunnelCounter::kRxSessionLost, share_.fifo(Vl{vl}).clear());
}

TunnelReceiver::Stretches TunnelReceiver::stretches_of(Bytes packet) {
  const Bytes covered = packet.first(packet.size() - wire::kVcrcSize);
  const std::size_t front = std::min(covered.size(), link::Packet::kMaxHeader);
  return {.front = covered.first(front),
          .rest = covered.subspan(front),
          .vcrc = packet.last(wire::kVcrcSize)};
}

TunnelReceiver::Stretches TunnelReceiver::stretches_of(const PacketItem& item) {
  if (!item.grouped()) return stretches_of(item.bytes);
  return {.front = item.front, .rest = item.bytes, .vcrc = item.vcrc};
}

// The front of a packet lies in it, as in those that the fabric makes; the rest in bulk memory, or,
// where it `stays`, in the landing that it came to.
link::PacketPtr TunnelReceiver::try_make(const Stretches& packet, bool stays) {
  const Bytes rest = packet.rest;
  BufferRef owner;
  if (stays) owner = share_.landing().owner(rest);
  Bytes payload = rest;
  if (!owner && !rest.empty()) {
    auto block = share_.memory().acquire();
    if (!block) return nullptr;
    owner = std::move(*block);
    std::memcpy(owner.bytes().data(), rest.data(), rest.size());
    payload = owner.bytes().first(rest.size());
  }
  link::PacketPtr made = pool_.refer(packet.front, payload, std::move(owner), packet.vcrc);
  // Now, while it is in the cache, and not when it leaves the FIFO.
  if (made != nullptr) {
    made->intact = made->lrh_good() && vcrc_good(packet.front, rest, packet.vcrc);
  }
  return made;
}

// As long as lanes go on, or stand still, together. Where one alone stands still, what has come for
// the others is held up for nothing.
bool TunnelReceiver::may_stay() {
  const std::uint64_t held = share_.landing().held_bytes();
  if (stays_ && held == held_) return true;
  held_ = held;
  stays_ = held < Landing::kSpareBytes || held < kHeldUp * share_.used_bytes();
  return stays_;
}

link::PacketPtr TunnelReceiver::make(const Stretches& packet, bool stays) {
  link::PacketPtr made = try_make(packet, stays);
  if (made == nullptr) counters_.add_in_turn(TunnelCounter::kRxNoMemory);
  return made;
}

bool TunnelReceiver::has_spare(Lane& lane) {
  static constexpr std::array<std::byte, link::kLongestPacket> kBlank{};
  if (lane.spare == nullptr) lane.spare = make(kBlank);
  return lane.spare != nullptr;
}

std::uint64_t TunnelReceiver::drained(Vl vl) const {
  return lanes_[vl.value()].position - share_.fifo(vl).queued();
}

bool TunnelReceiver::worth_telling(Vl vl) const {
  const Lane& lane = lanes_[vl.value()];
  const Fifo& fifo = share_.fifo(vl);
  const std::uint64_t received = lane.position + fifo.used() - fifo.queued();
  return lane.credit.worth_telling(drained(vl), received);
}

std::uint64_t TunnelReceiver::tell(Vl vl) {
  TunnelReceiveCredit& credit = lanes_[vl.value()].credit;
  credit.tell(std::max(credit.told(), credit.limit(drained(vl))));
  return credit.told();
}

bool TunnelReceiver::take(const PacketItem& item, Time now) {
  Lane& lane = lanes_[item.tag.vl.value()];
  Fifo& fifo = share_.fifo(item.tag.vl);
  const std::int64_t ahead = ahead_of(lane.expected, item.tag.sequence);
  if (ahead < 0) {
    counters_.add_in_turn(TunnelCounter::kRxLate);
    return true;
  }
  const std::int64_t blocks_ahead = ahead_of(lane.position, item.tag.position);
  if (blocks_ahead < 0) {
    counters_.add_in_turn(TunnelCounter::kRxMalformed);
    return true;
  }
  const std::uint64_t sequence = lane.expected + static_cast<std::uint64_t>(ahead);
  const std::uint64_t position = lane.position + static_cast<std::uint64_t>(blocks_ahead);
  if (ahead == 0 && item.whole() && lane.waiting.empty()) {
    return take_next(lane, fifo, item, position);
  }
  if (recovery_ && ahead != 0 && !has_spare(lane)) return false;
  Waiting* const waiting = place(lane, item, sequence, position, now);
  if (waiting == nullptr) return false;
  if (waiting->complete) {
    counters_.add_in_turn(TunnelCounter::kRxLate);
    return true;
  }
  if (!put(lane, *waiting, item, ahead == 0)) return false;
  lane.known = std::max(lane.known, sequence + 1);
  lane.known_position = std::max(lane.known_position, position + waiting->blocks);
  deliver_waiting(lane, fifo);
  return true;
}

// As most are: whole and in order.
bool TunnelReceiver::take_next(Lane& lane, Fifo& fifo, const PacketItem& item,
                               std::uint64_t position) {
  const std::uint64_t blocks = fifo.block().blocks(item.total);
  if (!lane.credit.covers(position, blocks) || !fifo.reserve(blocks)) {
    counters_.add_in_turn(TunnelCounter::kRxOverrun);
    return false;
  }
  link::PacketPtr made = make(stretches_of(item), may_stay());
  if (made == nullptr && recovery_) {
    fifo.give_up(blocks);
    return false;
  }
  deliver(lane, fifo, std::move(made), position, blocks);
  lane.known = std::max(lane.known, lane.expected);
  lane.known_position = std::max(lane.known_position, lane.position);
  return true;
}

// Where the packet waits, with room in the FIFO; null: the sender had no credit for it.
TunnelReceiver::Waiting* TunnelReceiver::place(Lane& lane, const PacketItem& item,
                                               std::uint64_t sequence, std::uint64_t position,
                                               Time now) {
  const auto found = lane.waiting.find(sequence);
  if (found != lane.waiting.end()) return &found->second;
  Fifo& fifo = share_.fifo(item.tag.vl);
  const std::uint64_t blocks = fifo.block().blocks(item.total);
  if (!lane.credit.covers(position, blocks) || !fifo.reserve(blocks)) {
    counters_.add_in_turn(TunnelCounter::kRxOverrun);
    return nullptr;
  }
  Waiting& waiting = lane.waiting.emplace_hint(lane.waiting.end(), sequence, Waiting())->second;
  waiting.position = position;
  waiting.blocks = blocks;
  waiting.total = item.total;
  waiting.since = now;
  return &waiting;
}

bool TunnelReceiver::put(Lane& lane, Waiting& waiting, const PacketItem& item, bool is_next) {
  // Of a packet all pieces name one length, unless somebody makes them up.
  if (item.total != waiting.total) {
    counters_.add_in_turn(TunnelCounter::kRxMalformed);
    return true;
  }
  if (item.whole()) return complete(lane, waiting, stretches_of(item), is_next);
  waiting.bytes.resize(item.total);
  std::memcpy(waiting.bytes.data() + item.offset, item.bytes.data(), item.bytes.size());
  add_range(waiting.come, item.offset, item.offset + item.bytes.size());
  if (waiting.come.back() != ByteRange{0, item.total}) return true;
  return complete(lane, waiting, stretches_of(waiting.bytes), is_next);
}

// With recovery, a packet for which there is no memory keeps its place, and the pieces that the
// other end thinks have come.
bool TunnelReceiver::complete(Lane& lane, Waiting& waiting, const Stretches& packet, bool is_next) {
  if (is_next && lane.spare != nullptr) {
    waiting.packet = try_make(packet, false);
    if (waiting.packet == nullptr) lane.spare.reset();
  }
  if (waiting.packet == nullptr) waiting.packet = make(packet, false);
  if (waiting.packet == nullptr && recovery_) return false;
  waiting.complete = true;
  waiting.bytes = {};
  return true;
}

void TunnelReceiver::deliver(Lane& lane, Fifo& fifo, link::PacketPtr packet, std::uint64_t position,
                             std::uint64_t blocks) {
  ++lane.expected;
  lane.position = std::max(lane.position, position) + blocks;
  if (packet == nullptr) return fifo.give_up(blocks);
  fifo.push(std::move(packet));
}

void TunnelReceiver::deliver_waiting(Lane& lane, Fifo& fifo) {
  while (!lane.waiting.empty()) {
    const auto first = lane.waiting.begin();
    if (first->first != lane.expected || !first->second.complete) return;
    const std::uint64_t position = first->second.position;
    const std::uint64_t blocks = first->second.blocks;
    link::PacketPtr packet = std::move(first->second.packet);
    lane.waiting.erase(first);
    deliver(lane, fifo, std::move(packet), position, blocks);
  }
  lane.spare.reset();
}

void TunnelReceiver::hear(const CreditAdvertisement& credit, Time now) {
  Lane& lane = lanes_[credit.vl.value()];
  const std::int64_t more = ahead_of(lane.known, credit.packets);
  if (more <= 0 || credit.sent < lane.known_position || !lane.credit.covers(credit.sent, 0)) return;
  lane.known += static_cast<std::uint64_t>(more);
  lane.known_position = credit.sent;
  lane.known_since = now;
}

// Without recovery: when what is missing before the next packet, or behind the last, is lost.
std::optional<Time> TunnelReceiver::gives_up(const Lane& lane) const {
  if (!lane.waiting.empty()) return lane.waiting.begin()->second.since + options_.mixed;
  if (lane.known > lane.expected) return lane.known_since + options_.mixed;
  return std::nullopt;
}

void TunnelReceiver::give_up(Lane& lane, Fifo& fifo) {
  stays_ = false;
  std::uint64_t lost = lane.known - lane.expected;
  if (lane.waiting.empty()) {
    lane.expected = lane.known;
    lane.position = std::max(lane.position, lane.known_position);
  } else {
    const auto first = lane.waiting.begin();
    lost = first->first - lane.expected;
    lane.expected = first->first;
    lane.position = std::max(lane.position, first->second.position);
    if (!first->second.complete) {
      ++lost;
      fifo.give_up(first->second.blocks);
      lane.position += first->second.blocks;
      ++lane.expected;
      lane.waiting.erase(first);
    }
  }
  counters_.add_in_turn(TunnelCounter::kRxLost, lost);
  deliver_waiting(lane, fifo);
}

void TunnelReceiver::expire(Time now) {
  if (recovery_) return;
  for (std::uint8_t vl = 0; vl < kLanes; ++vl) {
    Lane& lane = lanes_[vl];
    for (auto when = gives_up(lane); when && *when <= now; when = gives_up(lane))
      give_up(lane, share_.fifo(Vl{vl}));
  }
}

std::optional<Time> TunnelReceiver::deadline() const {
  std::optional<Time> first;
  if (recovery_) return first;
  for (const Lane& lane : lanes_) {
    const auto when = gives_up(lane);
    if (when && (!first || *when < *first)) first = when;
  }
  return first;
}

}  // namespace weft::wan
