// SPDX-License-Identifier: Apache-2.0
// What may be sent now: packets that are lost first, then new ones, in runs as long as the wire
// takes in one call.
#include <algorithm>
#include <cassert>

#include "hca/credit.h"
#include "hca/requester.h"
#include "wire/bth.h"
#include "wire/packet.h"

namespace weft::hca {
namespace {

constexpr std::uint8_t kMostTries = 16;  // what is counted of them

bool takes_receive(SendOpcode opcode) {
  return opcode != SendOpcode::kRdmaWrite && !fetches(opcode);
}

// Whether the packet uses up one of the peer's receive requests: of a send the first one, of a
// write with immediate the last one.
std::uint32_t receives_of(SendOpcode opcode, bool first, bool last) {
  if (!takes_receive(opcode)) return 0;
  return (opcode == SendOpcode::kRdmaWriteWithImmediate ? last : first) ? 1 : 0;
}

}  // namespace

std::uint32_t Requester::window() const {
  if (!reliable()) return Burst::kMaxBytes;
  const std::uint32_t window = congestion_.bytes();
  return selective() ? std::min(window, granted_) : window;
}

// One packet always: it may be larger than any window.
bool Requester::admits(std::uint64_t cost) const {
  if (!reliable()) return true;
  if (in_flight_ != 0 && in_flight_ + cost > window()) return false;
  const std::uint64_t span = next_serial_ - oldest();
  if (span == 0) return true;
  if (selective()) return span < kMostSpan && span_cost_ + cost <= kMostSpanBytes;
  return span < kMostOutstanding && records_.size() < kMostRecords;
}

// By the rule of kPacketCost, of a packet that begins a run or is within one. A run may yet arrive
// as packets of their own, and more than was thought: what is sent again can afford that.
std::uint32_t Requester::cost_of(std::size_t length, bool begins) const {
  return static_cast<std::uint32_t>(length + wire::kIcrcSize) +
         (begins || paced() ? kPacketCost : 0);
}

// Whether a packet may go, at the beginning of a burst or behind others.
bool Requester::may_go(bool begins, std::uint32_t cost, std::uint32_t receives) {
  if (!paced()) return admits(cost) && (!begins || worth_a_run());
  if (!begins) return pacer_.admits(cost, receives);
  const bool may = pacer_.allowance(cost, now_, receives) > 0;
  paced_until_ = pacer_.deadline();
  return may;
}

// Not for every little that an acknowledgement has freed: a call to the wire costs about as much
// for one packet as for many (the sender's half of RFC 1122, 4.2.3.4). With more than an eighth,
// the window would not be used.
bool Requester::worth_a_run() const {
  if (!reliable() || in_flight_ == 0) return true;
  const std::uint64_t window = this->window();
  const std::uint64_t free = window - std::min<std::uint64_t>(window, in_flight_);
  return free >=
         std::min<std::uint64_t>({queued_bytes_, Burst::kMaxBytes, window / 8, congestion_.run()});
}

bool Requester::fits(const Burst& burst, const Shape& shape) const {
  return burst.takes(shape.length(), wire::kIcrcSize) &&
         (burst.empty() || pins_.size() < kMostPins);
}

// An acknowledgement is worth asking for every quarter of a window, though of a large one more
// often, and of what leaves at once; and where the window ends: the next packet might begin a run.
std::uint64_t Requester::ask_after() const {
  return std::min({window() / 4, CongestionWindow::kMost / 4, congestion_.run()});
}

bool Requester::asks(std::uint64_t cost) const {
  if (!reliable()) return false;
  return since_ask_ + cost >= ask_after() || !admits(2 * cost + kPacketCost);
}

// Whether the burst that has been filled, with what follows, may go without asking: it has new
// messages, whole ones, of which none is to be reported. What went before it so had none either.
bool Requester::ask_may_wait() {
  if (!more_expected_ || !selective() || next_offset_ != 0 || out_.before.next_offset != 0) {
    return false;
  }
  if (out_.runs.front().again) return false;
  for (std::uint64_t request = out_.before.next_request; request < next_request_; ++request) {
    if (slot(request).signaled) return false;
  }
  return true;
}

// Whether more could be sent right after this burst.
bool Requester::fresh_possible() {
  if (doom_ || waits_turn_ || !unsent()) return false;
  const Slot& slot = this->slot(next_request_);
  if (is_local(slot.opcode)) return false;  // what comes after it, is not looked at
  if (next_offset_ == 0 && !may_begin(slot)) return false;
  if (fetches(slot.opcode)) return may_fetch(slot) && admits(kPacketCost);
  const Shape shape = data_shape(slot, next_offset_);
  return worth_a_run() && admits(shape.length() + wire::kIcrcSize + kPacketCost);
}

bool Requester::may_begin(const Slot& slot) const {
  if (hold_ || (slot.fence && !fetches_.empty())) return false;
  // Beyond its credits the peer is sent one message, to learn whether it has more (IBA 9.7.7.2.5).
  if (reliable() && limit_ && takes_receive(slot.opcode) &&
      Psn::diff(Psn{ssn_}, Psn{*limit_}) > 0) {
    return records_.empty();
  }
  return true;
}

// Carries out local work that is next; false when it must wait, or failed.
bool Requester::skip_local() {
  while (unsent() && is_local(slot(next_request_).opcode)) {
    Slot& slot = this->slot(next_request_);
    if (!slot.finished) {
      if (!may_begin(slot)) return false;
      run_local(next_request_);
      if (!slot.finished) return false;
    }
    slot.end = next_serial_;
    ++next_request_;
  }
  return unsent();
}

// Why a request cannot even begin.
std::optional<CompletionStatus> Requester::flaw(std::uint64_t request) {
  const Slot& slot = this->slot(request);
  if (slot.length > connection_.config.max_message) return CompletionStatus::kLocalLengthError;
  if (!fetches(slot.opcode)) return std::nullopt;
  if (slot.opcode != SendOpcode::kRdmaRead && slot.length != 8) {
    return CompletionStatus::kLocalLengthError;
  }
  if (connection_.max_reads_out == 0) return CompletionStatus::kLocalQpOperationError;
  RegionPin pin(memory_);
  for (const Sge& piece : requests_.pieces(request - first_request_)) {
    if (piece.length == 0) continue;  // names no memory, so its key does not matter
    if (pin.resolve(piece.lkey.value(), connection_.config.pd, piece.address, piece.length,
                    kLocalWrite) == nullptr) {
      return CompletionStatus::kLocalProtectionError;
    }
  }
  return std::nullopt;
}

bool Requester::append_fresh(Burst& burst) {
  if (doom_ || waits_turn_ || !skip_local()) return false;
  Slot& slot = this->slot(next_request_);
  if (next_offset_ == 0) {
    if (!may_begin(slot)) return false;
    if (const auto status = flaw(next_request_)) {
      doom(next_request_, *status);
      return false;
    }
  }
  if (fetches(slot.opcode)) return begin_fetch(burst, slot);
  return append_run(burst) || begin_data(burst, slot);
}

bool Requester::begin_data(Burst& burst, Slot& slot) {
  const Shape shape = data_shape(slot, next_offset_);
  if (!fits(burst, shape)) return false;
  const std::uint32_t cost = cost_of(shape.length(), burst.empty());
  const std::uint32_t receives = receives_of(slot.opcode, next_offset_ == 0, shape.ends);
  if (!may_go(burst.empty(), cost, receives)) {
    if (burst.empty() && !window_stalled_) {
      window_stalled_ = true;
      connection_.counters.add_in_turn(ConnectedCounter::kTxWindowStalls);
    }
    return false;
  }
  window_stalled_ = false;
  PacketRecord record{.serial = next_serial_,
                      .request = next_request_,
                      .offset = static_cast<std::uint32_t>(next_offset_)};
  if (!append_data(burst, record, shape)) return false;
  if (reliable()) {
    records_.push(record);
    span_cost_ += record.cost;
  }
  out_.add_fresh(record.serial, 1);
  ++next_serial_;
  out_.queued_bytes += shape.payload;
  ++out_.queued_packets;
  queued_bytes_ -= shape.payload;
  --queued_packets_;
  if (next_offset_ == 0) ssn_ = (ssn_ + 1) & Psn::kMask;
  finish_packet(shape.payload, shape.ends);
  return true;
}

bool Requester::begin_fetch(Burst& burst, Slot& slot) {
  Fetch fetch = plan_fetch(slot, next_offset_);
  if (!may_fetch(slot) || !admits(0)) return false;
  if (selective() && !records_.empty() && next_serial_ + fetch.count - oldest() > kMostSpan) {
    return false;
  }
  PacketRecord record{.serial = next_serial_,
                      .request = next_request_,
                      .offset = static_cast<std::uint32_t>(next_offset_),
                      .count = fetch.count,
                      .fetches = true};
  if (!append_fetch(burst, record, fetch)) return false;
  out_.add_fresh(record.serial, 1);
  records_.push(record);
  fetches_.push(fetch);
  fetch_cost_ += fetch.cost;
  next_serial_ += fetch.count;
  ssn_ = (ssn_ + 1) & Psn::kMask;
  const bool ends = next_offset_ + fetch.bytes >= slot.length;
  if (ends) {
    ++out_.queued_packets;
    --queued_packets_;
  }
  finish_packet(fetch.bytes, ends);
  return true;
}

void Requester::finish_packet(std::uint64_t bytes, bool ends) {
  next_offset_ += bytes;
  if (!ends) return;
  Slot& slot = this->slot(next_request_);
  slot.finished = true;
  slot.end = next_serial_;
  ++next_request_;
  next_offset_ = 0;
  pass_done_local();
}

// Puts a packet of a message into the burst; false when its memory cannot be read.
bool Requester::append_data(Burst& burst, PacketRecord& record, const Shape& shape) {
  const Slot& slot = this->slot(record.request);
  const bool begins = burst.empty();
  OutPacket& packet = burst.open();
  if (!add_payload(burst, packet, record.request, record.offset, shape.payload)) {
    doom(record.request, CompletionStatus::kLocalProtectionError);
    return false;
  }
  record.cost = cost_of(shape.length(), begins);
  const bool ask =
      paced() ? pacer_.stamp(record.cost, receives_of(slot.opcode, record.offset == 0, shape.ends))
                    .ack_request
              : asks(record.cost) || (reliable() && record.resent && lost_count_ == 0);
  write_data(packet, slot, shape, record.serial, record.offset, ask);
  record.wide = shape.length() > kNarrowPacket;
  assert(packet.length() == shape.length());
  burst.close(packet, wire::kIcrcSize);
  out_.last = &packet;
  if (reliable()) in_flight_ += record.cost;
  account(record, ask);
  return true;
}

// Puts a READ or an atomic into the burst: all of it, or the next run of packets that are missing.
bool Requester::append_fetch(Burst& burst, PacketRecord& record, Fetch& fetch) {
  const Slot& slot = this->slot(record.request);
  const Shape shape = fetch_shape(slot);
  if (!fits(burst, shape)) return false;
  const std::uint32_t mtu = connection_.mtu;
  const std::uint32_t from = fetch.first_missing(fetch.ask_from);
  const std::uint32_t until = fetch.missing_until(from);
  assert(from < until);
  const std::uint64_t start = std::uint64_t{from} * mtu;
  const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{until} * mtu, fetch.bytes);
  const Range range{.offset = static_cast<std::uint32_t>(record.offset + start),
                    .bytes = static_cast<std::uint32_t>(end - start)};
  OutPacket& packet = burst.open();
  write_fetch(packet, slot, record.serial + from, range);
  burst.close(packet, wire::kIcrcSize);
  out_.last = &packet;
  fetch.ask_from = until;
  fetch.asked_at = now_;
  account(record, true);
  return true;
}

// A long packet has been under way in vain, and no other has arrived since. If short ones do, that
// is not what chance does, nor a peer that stands still, but a link that is narrower than the
// interface and tells nobody (RFC 2923). So with its second transmission, and its third, the peer
// is asked by a short packet; if something has come back when the fourth is due, long packets go in
// pieces from then on.
void Requester::doubt_path(const PacketRecord& record, Burst& burst) {
  if (!record.wide || record.tries == 0 || connection_.narrow || !connection_.config.extensions) {
    return;
  }
  const bool again = record.tries >= 2;
  if (wide_delivered_at_ >= (again ? record.before_at : record.sent_at)) return;
  if (record.tries >= 3 && answered_at_ > record.sent_at) {
    connection_.narrow = true;
    next_trial_ = now_ + trial_pause_;
    burst.alone_above = connection_.alone_above();
  } else {
    question_ = true;
  }
}

// Whether the burst, a long packet that is sent for the first time, is to go whole in spite of
// that. Doubts can be wrong: a peer that is short of processors answers late, too. And paths
// change. So now and then one packet is risked (RFC 4821, 7.7 says so of larger ones);
// mark_delivered() hears of it.
bool Requester::tries_path(const Burst& burst) {
  if (!connection_.narrow || now_ < next_trial_ || out_.packets != 1) return false;
  const Out::Run& packet = out_.runs.front();
  if (packet.again || burst.packets().front().length() <= kNarrowPacket) return false;
  trial_ = packet.serial;
  trial_pause_ = std::min(trial_pause_ * 2, Duration{kLastTrial});
  next_trial_ = now_ + trial_pause_;
  return true;
}

void Requester::account(PacketRecord& record, bool asked) {
  record.out = true;
  record.order = ++order_;
  if (record.tries < kMostTries) ++record.tries;
  record.before_at = record.sent_at;
  record.sent_at = now_;
  since_ask_ = asked ? 0 : since_ask_ + record.cost;
  last_asked_ = asked;
}

// The first packet that is lost; `none` too when nothing of its request may be sent any more.
std::size_t Requester::next_lost() {
  std::size_t i = index_of(lost_from_);
  for (; lost_count_ > 0; ++i) {
    assert(i < records_.size());
    PacketRecord& record = records_[i];
    if (!record.lost) continue;
    if (doom_ && record.request >= doom_->request) break;
    lost_from_ = record.serial;
    if (!record.fetches) return i;
    Fetch& fetch = fetch_of(record);
    if (fetch.first_missing(fetch.ask_from) < fetch.count) return i;
    record.lost = false;  // it came meanwhile
    --lost_count_;
  }
  return kNone;
}

bool Requester::append_lost(Burst& burst) {
  const std::size_t i = next_lost();
  if (i == kNone) return false;
  PacketRecord& record = records_[i];
  if (record.fetches) return append_lost_fetch(burst, record);
  doubt_path(record, burst);
  const Shape shape = data_shape(slot(record.request), record.offset);
  if (!fits(burst, shape)) return false;
  const std::uint64_t cost = shape.length() + wire::kIcrcSize + (burst.empty() ? kPacketCost : 0u);
  if (in_flight_ != 0 && in_flight_ + cost > window()) return false;
  record.lost = false;
  --lost_count_;
  record.resent = true;
  const std::uint32_t old_cost = record.cost;
  if (!append_data(burst, record, shape)) {
    record.lost = true;
    ++lost_count_;
    return false;
  }
  span_cost_ = span_cost_ - old_cost + record.cost;
  out_.add_again(record.serial, 0);
  return true;
}

bool Requester::append_lost_fetch(Burst& burst, PacketRecord& record) {
  Fetch& fetch = fetch_of(record);
  const std::uint32_t ask_from = fetch.ask_from;
  record.resent = true;
  if (!append_fetch(burst, record, fetch)) return false;
  if (fetch.first_missing(fetch.ask_from) == fetch.count) {
    record.lost = false;
    --lost_count_;
    ++fetch.tries;
  }
  out_.add_again(record.serial, ask_from);
  return true;
}

// The newest packet was sent without asking for an acknowledgement, since more was to follow, and
// now nothing may: one that is on its way goes again, and asks.
bool Requester::append_again(Burst& burst) {
  for (std::size_t i = records_.size(); i-- > 0;) {
    PacketRecord& record = records_[i];
    if (record.fetches || record.delivered || record.lost) continue;
    if (doom_ && record.request >= doom_->request) continue;
    doubt_path(record, burst);
    const Shape shape = data_shape(slot(record.request), record.offset);
    const std::uint32_t old_cost = record.cost;
    record.resent = true;
    if (!append_data(burst, record, shape)) return false;
    in_flight_ -= old_cost;
    span_cost_ = span_cost_ - old_cost + record.cost;
    out_.add_again(record.serial, 0);
    return true;
  }
  return false;
}

}  // namespace weft::hca
