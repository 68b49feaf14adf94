// SPDX-License-Identifier: Apache-2.0
// Packets that differ from the one before in their number and in their piece of memory only, so
// that what is decided for the first holds for all of the run: the middle of a message, short
// messages.
#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "hca/credit.h"
#include "hca/requester.h"
#include "wire/bth.h"
#include "wire/packet.h"
#include "wire/reth.h"

namespace weft::hca {

// How many packets of `cost` may go, at most `most`, each of them with room for `total` left. What
// admits(total) says before each of them. `receives`: of the peer, by each.
std::size_t Requester::admitted(std::size_t most, std::uint64_t cost, std::uint64_t total,
                                std::uint32_t receives) const {
  if (paced()) {
    return std::min<std::size_t>(most, pacer_.room(static_cast<std::uint32_t>(cost), receives));
  }
  if (!reliable()) return most;
  const auto packets = [cost, total](std::uint64_t limit, std::uint64_t used) {
    return limit < used + total ? 0 : (limit - used - total) / cost + 1;
  };
  const std::uint64_t span = next_serial_ - oldest();
  const std::uint64_t count = std::min(std::uint64_t{most}, packets(window(), in_flight_));
  if (!selective()) {
    return std::min({count, kMostOutstanding - span, kMostRecords - records_.size()});
  }
  return std::min({count, kMostSpan - span, packets(kMostSpanBytes, span_cost_)});
}

// Where the payload of up to `packets` full packets from `offset` on lies in one stretch; their
// number becomes what the stretch holds.
const std::byte* Requester::stretch(std::uint64_t request, std::uint64_t offset,
                                    std::size_t& packets) {
  for (const Sge& piece : requests_.pieces(request - first_request_)) {
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const std::uint64_t mtu = connection_.mtu;
    packets = std::min<std::uint64_t>(packets, (piece.length - offset) / mtu);
    if (packets == 0) return nullptr;
    return pins_.resolve(piece.lkey.value(), connection_.config.pd, piece.address + offset,
                         packets * mtu, 0);
  }
  return nullptr;
}

// Of packets of `cost` that go now one after the other, which ones ask for an acknowledgement, as
// asks() has it.
Requester::Asking Requester::asking(std::size_t packets, std::uint64_t cost,
                                    std::uint32_t receives) const {
  if (!reliable()) return {.from = packets, .after = ~std::uint64_t{0}, .receives = receives};
  return {.from = admitted(packets, cost, 2 * cost + kPacketCost, receives),
          .after = ask_after(),
          .receives = receives};
}

// The next packet of a run, like `model` but for its numbers. They are written into the copy: what
// has just been written cannot be copied at once.
bool Requester::note_next(const PacketRecord& model, std::uint64_t request, std::uint32_t offset,
                          const Asking& asking, std::size_t i) {
  const bool ask = paced() ? pacer_.stamp(model.cost, asking.receives).ack_request
                           : i >= asking.from || since_ask_ + model.cost >= asking.after;
  if (reliable()) {
    PacketRecord& record = records_.push(model);
    record.serial = next_serial_;
    record.request = request;
    record.order = ++order_;
    record.offset = offset;
  }
  out_.add_fresh(next_serial_, 1);
  ++next_serial_;
  since_ask_ = ask ? 0 : since_ask_ + model.cost;
  last_asked_ = ask;
  return ask;
}

void Requester::note_run(std::size_t packets, std::uint64_t cost, std::uint64_t bytes) {
  if (reliable()) {
    in_flight_ += packets * cost;
    span_cost_ += packets * cost;
  }
  out_.queued_bytes += bytes;
  out_.queued_packets += packets;
  queued_bytes_ -= bytes;
  queued_packets_ -= packets;
  window_stalled_ = false;
}

// Goes on with the message that the last packet of the burst is of, for as many full packets as
// there is room for; false when that is none, or not as simple as that: then begin_data() decides.
bool Requester::append_middles(Burst& burst) {
  const Slot& slot = this->slot(next_request_);
  const std::uint32_t mtu = connection_.mtu;
  if (next_offset_ == 0 || slot.length - next_offset_ <= mtu || slot.is_inline()) return false;
  const Shape shape = data_shape(slot, next_offset_);
  const std::uint32_t cost = cost_of(shape.length(), false);
  std::size_t count = std::min<std::uint64_t>(burst.room(shape.length(), wire::kIcrcSize),
                                              (slot.length - next_offset_ - 1) / mtu);
  count = admitted(count, cost, cost, 0);
  if (count < 2) return false;
  const std::byte* const data = stretch(next_request_, next_offset_, count);
  if (data == nullptr) return false;

  const auto offset = static_cast<std::uint32_t>(next_offset_);
  std::array<bool, Burst::kMaxPackets> asks{};
  const std::uint64_t serial = next_serial_;
  note_middles({.request = next_request_,
                .sent_at = now_,
                .offset = offset,
                .cost = cost,
                .out = true,
                .wide = shape.length() > kNarrowPacket,
                .tries = 1},
               std::span(asks).first(count));
  OutPacket& first = burst.open();
  burst.add_piece(first, {data, mtu});
  write_data(first, slot, shape, serial, offset, asks[0]);
  burst.close(first, wire::kIcrcSize);
  out_.last = &first;
  std::size_t i = 0;
  for (OutPacket& packet : burst.repeat(first, data + mtu, count - 1, wire::kIcrcSize)) {
    ++i;
    wire::BthView bth{MutableBytes(packet.header)};
    bth.set_psn(psn(serial + i));
    bth.set_ack_request(asks[i]);
    if (shape.opcode == wire::Opcode::weft_rc_write_middle) {
      repeat_address(packet, slot, offset + i * mtu);
    }
    out_.last = &packet;
  }
  next_offset_ += count * std::uint64_t{mtu};
  note_run(count, cost, count * std::uint64_t{mtu});
  return true;
}

// The RETH of a packet of a write that begins at `offset`.
void Requester::repeat_address(OutPacket& packet, const Slot& slot, std::uint64_t offset) {
  wire::Reth{.virtual_address = slot.remote_address + offset,
             .rkey = slot.rkey,
             .dma_length = static_cast<std::uint32_t>(slot.length - offset)}
      .write(MutableBytes(packet.header).subspan(wire::Bth::kSize));
}

// The next full packets of a message, like `model` but for their numbers: one for each of `asks`,
// which becomes whether it asks for an acknowledgement. The numbers are written into the copies:
// what has just been written cannot be copied at once.
void Requester::note_middles(const PacketRecord& model, std::span<bool> asks) {
  const Asking asking = this->asking(asks.size(), model.cost, 0);
  const std::uint32_t mtu = connection_.mtu;
  std::uint64_t since = since_ask_;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    asks[i] = paced() ? pacer_.stamp(model.cost, 0).ack_request
                      : i >= asking.from || since + model.cost >= asking.after;
    since = asks[i] ? 0 : since + model.cost;
    if (!reliable()) continue;
    PacketRecord& record = records_.push(model);
    record.serial = next_serial_ + i;
    record.order = order_ + i + 1;
    record.offset = model.offset + static_cast<std::uint32_t>(i) * mtu;
  }
  out_.add_fresh(next_serial_, asks.size());
  next_serial_ += asks.size();
  order_ += asks.size();
  since_ask_ = since;
  last_asked_ = asks.back();
}

// As many messages as the peer has told that it has receive requests for.
std::size_t Requester::credits(std::size_t most) const {
  if (!reliable() || !limit_) return most;
  const std::int32_t beyond = Psn::diff(Psn{ssn_}, Psn{*limit_});
  return beyond > 0 ? 0 : std::min(most, static_cast<std::size_t>(1 - beyond));
}

// Whether this request is a send like that of the burst's last packet, but for its memory, and
// either lies in one piece.
bool Requester::is_like(const Slot& slot, const OutPacket& packet) const {
  return packet.piece_count == 1 && slot.opcode == SendOpcode::kSend &&
         slot.length == packet.payload_length && slot.piece_count == 1 && !slot.is_inline() &&
         !slot.solicited && !slot.fence;
}

// Goes on with requests that differ from the one before in their memory only: sends of one packet.
bool Requester::append_alike(Burst& burst) {
  if (next_offset_ != 0 || hold_ || connection_.config.type == QpType::kXrcInitiator) return false;
  const OutPacket& model = burst.packets().back();
  const wire::BthView front(MutableBytes(out_.last->header));
  if (front.opcode() != opcode(static_cast<unsigned>(wire::Opcode::rc_send_only)) ||
      front.solicited() || !is_like(slot(next_request_), model)) {
    return false;
  }
  const std::uint32_t cost = cost_of(model.length(), false);
  std::size_t count = std::min<std::uint64_t>(burst.room(model.length(), wire::kIcrcSize),
                                              first_request_ + requests_.size() - next_request_);
  count = admitted(credits(count), cost, cost, 1);
  const Asking asking = this->asking(count, cost, 1);
  const PacketRecord record{.sent_at = now_,
                            .cost = cost,
                            .out = true,
                            .wide = model.length() > kNarrowPacket,
                            .tries = 1};
  const std::uint32_t length = model.payload_length;
  std::size_t done = 0;
  for (; done < count && pins_.size() < kMostPins; ++done) {
    Slot& slot = this->slot(next_request_);
    if (!is_like(slot, model)) break;
    const Sge& piece = requests_.pieces(next_request_ - first_request_).front();
    const std::byte* const data =
        pins_.resolve(piece.lkey.value(), connection_.config.pd, piece.address, length, 0);
    if (data == nullptr) break;
    const std::uint64_t serial = next_serial_;
    const bool ask = note_next(record, next_request_, 0, asking, done);
    OutPacket& packet = burst.repeat(model, {data, length}, wire::kIcrcSize);
    wire::BthView bth{MutableBytes(packet.header)};
    bth.set_psn(psn(serial));
    bth.set_ack_request(ask);
    out_.last = &packet;
    slot.finished = true;
    slot.end = next_serial_;
    ++next_request_;
  }
  ssn_ = (ssn_ + static_cast<std::uint32_t>(done)) & Psn::kMask;
  note_run(done, cost, done * std::uint64_t{length});
  return done > 0;
}

// Goes on as the last packet of the burst began, where that is simple.
bool Requester::append_run(Burst& burst) {
  if (burst.empty() || one_by_one_ > 0) return false;
  return append_middles(burst) || append_alike(burst);
}

}  // namespace weft::hca
