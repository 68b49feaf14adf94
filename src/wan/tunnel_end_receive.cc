// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "wan/tunnel_end.h"

namespace weft::wan {
namespace {

// Frames with packets that are acknowledged together.
constexpr unsigned kAcknowledged = 16;
// Of the path's room: what is acknowledged at once.
constexpr std::uint32_t kRoomShares = 4;

}  // namespace

void TunnelEnd::receive(Bytes bytes, Time now, Bytes beside) {
  auto frame = FrameView::parse(bytes, beside);
  if (!frame) {
    const bool version = frame.error() == FrameError::kVersion;
    counters_.add_in_turn(version ? TunnelCounter::kRxVersion : TunnelCounter::kRxMalformed);
    if (version) handle(session_.hear_other_version(), now);
  } else if (frame->head().type == FrameType::kSession) {
    receive_session(*frame, now);
  } else {
    receive_traffic(*frame, bytes, now);
    while (const auto recovered = decoder_.next())
      receive_recovered(*recovered, now);
  }
  wake();
}

void TunnelEnd::receive_session(FrameView& frame, Time now) {
  const FrameHead& head = frame.head();
  std::optional<Hello> hello;
  std::optional<Refusal> why;
  while (const auto item = frame.next()) {
    if (const auto* const said = std::get_if<Hello>(&*item)) {
      hello = *said;
    } else if (const auto* const refusal = std::get_if<RefusalItem>(&*item)) {
      why = refusal->why;
    } else if (std::holds_alternative<EndItem>(*item) && session_.up() &&
               head.epoch == session_.receive_epoch()) {
      handle(session_.hear_end(now), now);
    }
  }
  if (hello) handle(session_.hear(*hello, head.epoch, now, why), now);
}

void TunnelEnd::receive_traffic(FrameView& frame, Bytes bytes, Time now) {
  const FrameHead& head = frame.head();
  if (!session_.up() || head.epoch != session_.receive_epoch()) {
    return counters_.add_in_turn(TunnelCounter::kRxWrongSession);
  }
  if (head.open > head.sequence) return counters_.add_in_turn(TunnelCounter::kRxMalformed);
  session_.heard(now);
  counters_.add_in_turn(TunnelCounter::kRxFrames);
  take_items(frame, bytes, false, now);
}

// Nobody has sent it, so that it need not be what it should.
void TunnelEnd::receive_recovered(const FecDecoder::Recovered& recovered, Time now) {
  auto frame = FrameView::parse(recovered.frame);
  const bool genuine = frame && frame->head().type == FrameType::kTraffic &&
                       frame->head().epoch == session_.receive_epoch() &&
                       frame->head().sequence == recovered.number &&
                       frame->head().open <= recovered.number;
  if (!genuine) return counters_.add_in_turn(TunnelCounter::kRxRepairRefused);
  counters_.add_in_turn(TunnelCounter::kRxRecovered);
  take_items(*frame, recovered.frame, true, now);
}

void TunnelEnd::take_items(FrameView& frame, Bytes bytes, bool recovered, Time now) {
  const FrameHead& head = frame.head();
  arrivals_.settle(head.sequence - head.open);
  if (!arrivals_.awaits(head.sequence)) return counters_.add_in_turn(TunnelCounter::kRxDoubled);
  // What is missing is told at once, so that it is sent again the sooner.
  const bool skipped = head.sequence > newest_;
  if (head.sequence >= newest_) {
    newest_ = head.sequence + 1;
    mirror_.hear(head.port_state, head.port_downs);
  }
  bool has_ranges = false;
  bool packets = false;
  bool covered = false;
  bool taken = true;
  for (;;) {
    if (const auto packet = frame.next_packet()) {
      packets = covered = true;
      taken &= receiver_.take(*packet, now);
      continue;
    }
    const auto item = frame.next();
    if (!item) break;
    has_ranges |= std::holds_alternative<AcknowledgeItem>(*item);
    packets |= std::holds_alternative<PacketItem>(*item);
    covered |= packets || std::holds_alternative<ManagementItem>(*item);
    const auto* const repair = std::get_if<RepairItem>(&*item);
    if (repair != nullptr && !recovered) {
      decoder_.take(*repair, head.sequence);
    } else {
      taken &= take(*item, head, now);
    }
  }
  if (covered && !recovered) decoder_.keep(head.sequence, bytes);
  if (!has_ranges) sender_.acknowledged(head.acknowledged, {}, now);
  if (!taken) return;
  arrivals_.arrived(head.sequence);
  if (!packets) return;
  if (unacknowledged_++ == 0) acknowledge_at_ = now + kAcknowledgeDelay;
  unacknowledged_bytes_ += bytes.size();
  if (skipped || acknowledges_now()) acknowledge_at_ = now;
}

// The other end may be waiting for room.
bool TunnelEnd::acknowledges_now() const {
  if (unacknowledged_ >= kAcknowledged) return true;
  const std::uint32_t room = path_.receive_room();
  return room != 0 && unacknowledged_bytes_ >= room / kRoomShares;
}

bool TunnelEnd::take(const Item& item, const FrameHead& head, Time now) {
  if (const auto* const packet = std::get_if<PacketItem>(&item)) {
    return receiver_.take(*packet, now);
  }
  if (const auto* const management = std::get_if<ManagementItem>(&item)) {
    take_management(management->packet, now);
  } else if (const auto* const credit = std::get_if<CreditItem>(&item)) {
    counters_.add_in_turn(TunnelCounter::kRxCredit);
    sender_.hear(*credit);
    receiver_.hear(credit->credit, now);
  } else if (const auto* const list = std::get_if<AcknowledgeItem>(&item)) {
    std::array<AcknowledgeItem::Range, AcknowledgeItem::kMostRanges> ranges;
    for (std::size_t i = 0; i < list->size(); ++i)
      ranges[i] = list->at(i);
    sender_.acknowledged(head.acknowledged, std::span(ranges).first(list->size()), now);
  } else {
    counters_.add_in_turn(TunnelCounter::kRxMalformed);
  }
  return true;
}

void TunnelEnd::take_management(Bytes packet, Time now) {
  if (port_.backlog(link::kVl15) >= options_.sender.management_packets) {
    return counters_.add_in_turn(TunnelCounter::kRxVl15Full);
  }
  link::PacketPtr made = receiver_.make(packet);
  if (made == nullptr) return;
  counters_.add_in_turn(TunnelCounter::kRxVl15);
  port_.transmit(std::move(made), link::kVl15, now);
}

// What the local link has credit for; a lane that has none keeps its packets in its FIFO.
void TunnelEnd::deliver(Time now) {
  if (port_.state() != link::PortState::kActive) return;
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    const Vl vl{lane};
    while (receiver_.front(vl) != nullptr && port_.backlog(vl) < kPortQueue) {
      counters_.add_in_turn(TunnelCounter::kRxPackets);
      port_.transmit(receiver_.pop(vl), vl, now);
    }
  }
}

}  // namespace weft::wan
