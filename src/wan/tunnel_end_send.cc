// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cassert>

#include "link/iba_values.h"
#include "wan/tunnel_end.h"

namespace weft::wan {

// Often enough for the other end's patience, whatever is lost.
Duration TunnelEnd::period() const {
  return std::clamp<Duration>(session_.agreement().silence / 8, 1ms, options_.credit_period);
}

// All lanes' credit and the port's state are said again now and then, for what was lost.
void TunnelEnd::note_due(Time now) {
  if (now >= next_period_) {
    next_period_ = now + period();
    credit_due_ = static_cast<std::uint16_t>((1U << options_.port.data_vls) - 1);
    state_due_ = true;
  }
  for (std::uint8_t vl = 0; vl < options_.port.data_vls; ++vl) {
    if (receiver_.worth_telling(Vl{vl})) credit_due_ |= link::bit(Vl{vl});
  }
}

// Who has more to send fills the block with that.
bool TunnelEnd::repairs_due(Time now) const {
  return encoder_.full() || (encoder_.pauses(now) && !sender_.has_work());
}

// A lost frame may be made again at the other end, and is not to be sent again before that can be
// known; unless that takes longer than to do so.
Duration TunnelEnd::repair_delay() const {
  if (!encoder_.any()) return 0ns;
  return std::min(encoder_.delay() + kAcknowledgeDelay, sender_.round_trip());
}

// What does not wait for packets to leave with.
bool TunnelEnd::control_due(Time now) const {
  return state_due_ || credit_due_ != 0 || (unacknowledged_ != 0 && now >= acknowledge_at_);
}

// Whether packets wait for others to fill a frame with. The port must have room for those.
bool TunnelEnd::gathers(Time now) const {
  if (now >= gather_until_) return false;
  const std::size_t room = options_.port.vl_buffer * link::Packet::kBlock / 2;
  return sender_.fits_one_more(std::min(longest_frame() - FrameHead::kSize, room));
}

bool TunnelEnd::has_work(Time now) const {
  if (!sender_.may_leave()) return false;
  if (repairs_due(now) || control_due(now)) return true;
  return sender_.has_work() && !gathers(now);
}

void TunnelEnd::send(Time now) {
  if (!path_.established() || !started_) return;
  if (path_.ready() && session_.hello_due()) send_session(now);
  if (!session_.up()) return;
  note_due(now);
  while (path_.ready() && has_work(now)) {
    std::size_t frames = 0;
    std::size_t bytes = 0;
    do {
      put_together(frames, now);
      bytes += builders_[frames++].size();
      if (bytes >= kStream) gather_until_ = now + kGather;
    } while (frames < kBurst && bytes < path_.burst() && has_work(now));
    give(frames, now);
    sender_.departed();
  }
}

std::size_t TunnelEnd::longest_frame() const {
  return std::clamp<std::size_t>(
      std::min<std::size_t>(path_.longest_frame(), session_.agreement().longest_frame), kLeastFrame,
      kLongestFrame);
}

FrameHead TunnelEnd::next_head(Time now) {
  FrameHead head{.port_state = mirror_.state(),
                 .port_downs = mirror_.downs(),
                 .epoch = session_.send_epoch(),
                 .acknowledged = arrivals_.next()};
  sender_.leaves(head, now);
  return head;
}

// With acknowledgements and credit, if only because packets leave anyway; where those are of a
// class of their own, without packets. Where there are repairs of it, one must be no longer than
// the path takes.
void TunnelEnd::put_together(std::size_t index, Time now) {
  const std::size_t longest = longest_frame();
  if (repairs_due(now)) {
    if (encoder_.repair_size() <= longest) return put_repair_together(index, now);
    encoder_.give_up();
  }
  FrameBuilder& frame = builders_[index];
  const std::size_t overhead = encoder_.any() ? FecEncoder::kOverhead : 0;
  frame.begin(std::max(kLeastFrame, longest - std::min(longest, overhead)),
              session_.agreement().options ? path_.options_room() : 0, session_.agreement().groups);
  std::optional<std::uint8_t> traffic_class;
  if (options_.sender.classes.uniform() || control_due(now)) {
    traffic_class = options_.sender.classes.control;
    add_acknowledgements(frame);
    add_credit(frame);
    state_due_ = false;
  }
  const std::size_t without_packets = frame.size();
  classes_[index] = sender_.fill(frame, traffic_class);
  const bool has_packets = frame.size() > without_packets;
  const FrameHead head = next_head(now);
  frame.finish(head);
  if (encoder_.any() && has_packets && frame.size() + overhead <= longest) {
    encoder_.cover(head.sequence, frame.parts(), frame.size(), classes_[index], now);
  }
}

void TunnelEnd::put_repair_together(std::size_t index, Time now) {
  FrameBuilder& frame = builders_[index];
  frame.begin(longest_frame());
  classes_[index] = encoder_.traffic_class();
  const FrameHead head = next_head(now);
  [[maybe_unused]] const bool fits = frame.add(encoder_.take(head.sequence, now));
  assert(fits);
  frame.finish(head);
  counters_.add_in_turn(TunnelCounter::kTxRepairs);
}

void TunnelEnd::add_acknowledgements(FrameBuilder& frame) {
  if (unacknowledged_ != 0 && arrivals_.gaps() && session_.agreement().recovery) {
    // Older ones have been told before. A short frame is to have room for packets.
    std::array<AcknowledgeItem::Range, 32> ranges;
    const std::size_t room = frame.room() > 1024 ? ranges.size() : 4;
    frame.add(std::span(ranges).first(arrivals_.ranges(std::span(ranges).first(room))));
  }
  unacknowledged_ = 0;
  unacknowledged_bytes_ = 0;
}

void TunnelEnd::add_credit(FrameBuilder& frame) {
  for (std::uint16_t rest = credit_due_; rest != 0; rest &= rest - 1) {
    const Vl vl{static_cast<std::uint8_t>(link::lowest_lane(rest))};
    if (!frame.takes_credit()) break;
    credit_due_ &= static_cast<std::uint16_t>(~link::bit(vl));
    const CreditItem item{.credit = {.vl = vl,
                                     .packets = sender_.packets(vl),
                                     .sent = sender_.blocks(vl),
                                     .limit = receiver_.tell(vl)},
                          .settled = receiver_.settled(vl)};
    if (frame.add(item)) counters_.add_in_turn(TunnelCounter::kTxCredit);
  }
  if (!frame.options().empty()) counters_.add_in_turn(TunnelCounter::kTxOptions);
}

void TunnelEnd::give(std::size_t count, Time now) {
  std::array<OutFrame, kBurst> frames;
  for (std::size_t i = 0; i < count; ++i)
    frames[i] = {.parts = builders_[i].parts(),
                 .size = builders_[i].size(),
                 .traffic_class = classes_[i],
                 .options = builders_[i].options()};
  counters_.add_in_turn(TunnelCounter::kTxFrames, count);
  path_.send(std::span(frames).first(count), now);
}

void TunnelEnd::send_session(Time now) {
  FrameBuilder& frame = builders_[0];
  frame.begin(kLeastFrame);
  const FrameHead head{.type = FrameType::kSession, .epoch = session_.named()};
  const auto why_not = session_.why_not();
  Hello hello = session_.hello(now);
  hello.receive_room = path_.receive_room();
  hello.options = path_.options_room() != 0;
  if (!frame.add(hello)) return;
  if (why_not && !frame.add(*why_not)) return;
  frame.finish(head);
  classes_[0] = options_.sender.classes.control;
  give(1, now);
}

void TunnelEnd::send_end(Time now) {
  if (!path_.established() || !path_.ready()) return;
  FrameBuilder& frame = builders_[0];
  frame.begin(kLeastFrame);
  if (!frame.add_end()) return;
  frame.finish({.type = FrameType::kSession, .epoch = session_.send_epoch()});
  classes_[0] = options_.sender.classes.control;
  give(1, now);
}

}  // namespace weft::wan
