// SPDX-License-Identifier: Apache-2.0
// The middle of a message: packets that differ from the one before in their number and in their
// piece of memory only, so that what is decided for the first holds for all of the run.
#include <algorithm>
#include <cassert>

#include "hca/requester.h"
#include "hca/ud_credit.h"
#include "wire/bth.h"
#include "wire/reth.h"

namespace weft::hca {
namespace {

constexpr std::uint32_t kIcrcBytes = 4;

}  // namespace

// How many packets of `cost` may go, at most `most`, each of them with room for `total` left. What
// admits(total) says before each of them.
std::size_t Requester::admitted(std::size_t most, std::uint64_t cost, std::uint64_t total) const {
  if (!reliable()) return most;
  const auto packets = [cost, total](std::uint64_t limit, std::uint64_t used) {
    return limit < used + total ? 0 : (limit - used - total) / cost + 1;
  };
  const std::uint64_t span = next_serial_ - oldest();
  const std::uint64_t count = std::min(std::uint64_t{most}, packets(window(), in_flight_));
  if (!selective()) return std::min<std::uint64_t>(count, kMostOutstanding - span);
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

// Goes on with the message that the last packet of the burst is of, for as many full packets as
// there is room for; false when that is none, or not as simple as that: then begin_data() decides.
bool Requester::append_run(Burst& burst) {
  const Slot& slot = this->slot(next_request_);
  const std::uint32_t mtu = connection_.mtu;
  if (burst.empty() || next_offset_ == 0 || slot.length - next_offset_ <= mtu || slot.is_inline()) {
    return false;
  }
  const Shape shape = data_shape(slot, next_offset_);
  const auto cost = static_cast<std::uint32_t>(shape.length() + kIcrcBytes);
  std::size_t count = std::min<std::uint64_t>(burst.room(shape.length(), kIcrcBytes),
                                              (slot.length - next_offset_ - 1) / mtu);
  count = admitted(count, cost, cost);
  if (count < 2) return false;
  const std::byte* const data = stretch(next_request_, next_offset_, count);
  if (data == nullptr) return false;

  // Beyond, an acknowledgement is asked for, as asks() has it.
  const std::size_t calm = admitted(count, cost, 2 * cost + kPacketCost);
  const std::uint64_t quarter = window() / 4;
  PacketRecord record{.request = next_request_,
                      .sent_at = now_,
                      .offset = static_cast<std::uint32_t>(next_offset_),
                      .cost = cost,
                      .out = true,
                      .wide = shape.length() > kNarrowPacket,
                      .tries = 1};
  for (std::size_t i = 0; i < count; ++i) {
    const bool ask = reliable() && (i >= calm || since_ask_ + cost >= quarter);
    record.serial = next_serial_++;
    record.order = ++order_;
    const Bytes payload(data + i * mtu, mtu);
    if (i == 0) {
      OutPacket& packet = burst.open();
      burst.add_piece(packet, payload);
      write_data(packet, slot, shape, record.serial, record.offset, ask);
      burst.close(packet, kIcrcBytes);
      out_.last = &packet;
    } else {
      OutPacket& packet = burst.repeat(payload, kIcrcBytes);
      wire::BthView bth{MutableBytes(packet.header)};
      bth.set_psn(psn(record.serial));
      bth.set_ack_request(ask);
      if (shape.opcode == wire::Opcode::weft_rc_write_middle) {
        wire::Reth{.virtual_address = slot.remote_address + record.offset,
                   .rkey = slot.rkey,
                   .dma_length = static_cast<std::uint32_t>(slot.length - record.offset)}
            .write(MutableBytes(packet.header).subspan(wire::Bth::kSize));
      }
      out_.last = &packet;
    }
    records_.push(record);
    out_.packets.push_back({.serial = record.serial});
    since_ask_ = ask ? 0 : since_ask_ + cost;
    last_asked_ = ask;
    record.offset += mtu;
  }
  const std::uint64_t bytes = count * std::uint64_t{mtu};
  in_flight_ += count * cost;
  span_cost_ += count * cost;
  next_offset_ += bytes;
  out_.queued_bytes += bytes;
  out_.queued_packets += count;
  queued_bytes_ -= bytes;
  queued_packets_ -= count;
  window_stalled_ = false;
  return true;
}

}  // namespace weft::hca
