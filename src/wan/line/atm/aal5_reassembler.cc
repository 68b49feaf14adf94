// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/aal5_reassembler.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan::atm {

void Aal5Reassembler::close(const Channel& channel) {
  const auto at = partial_.find(channel);
  if (at == partial_.end()) return;
  if (at->second.used != 0) drop(at->second, Aal5Counter::kClosed);
  recent_ = nullptr;
  partial_.erase(at);
}

void Aal5Reassembler::take(const CellRun& run, std::uint64_t cell_time, Aal5Sink& sink) {
  assert(run.header.is_user_data());
  Partial* const partial = find(run.header.channel);
  if (partial == nullptr) {
    counters_.add_in_turn(Aal5Counter::kUnknownCells, run.count);
    return;
  }
  counters_.add_in_turn(Aal5Counter::kCells, run.count);
  partial->last_cell = cell_time;
  const bool last = (run.header.payload_type & kLastOfPdu) != 0;
  for (std::size_t cell = 0; cell < run.count;) {
    if (!partial->skips) {
      // Of cells that each end a PDU, one at a time.
      const std::size_t count = gather(run, cell, *partial);
      cell += count;
      if (count != 0 && last) finish(run.header.channel, *partial, sink);
      if (count != 0) continue;
    }
    partial->skips = !last;
    ++cell;
  }
}

// Cells of the run from `from` on, to what there is of the PDU: as many as there is room for, and
// one where it ends. None: there was no room, and the PDU is dropped.
std::size_t Aal5Reassembler::gather(const CellRun& run, std::size_t from, Partial& partial) {
  const bool last = (run.header.payload_type & kLastOfPdu) != 0;
  const std::size_t count = make_room(partial, last ? 1 : run.count - from);
  std::byte* to = partial.bytes.data() + partial.used;
  const std::byte* cell = run.first + from * run.stride;
  for (std::size_t i = 0, stride = run.stride; i < count; ++i, cell += stride, to += kPayloadSize)
    std::memcpy(to, cell, kPayloadSize);
  partial.used += count * kPayloadSize;
  kept_ += count * kPayloadSize;
  return count;
}

// Most cells are of the connection that the one before was of.
Aal5Reassembler::Partial* Aal5Reassembler::find(const Channel& channel) {
  if (recent_ != nullptr && recent_channel_ == channel) return recent_;
  const auto at = partial_.find(channel);
  if (at == partial_.end()) return nullptr;
  recent_channel_ = channel;
  return recent_ = &at->second;
}

// For so many cells, or as many as may be; for none, and the PDU is dropped.
std::size_t Aal5Reassembler::make_room(Partial& partial, std::size_t cells) {
  const std::size_t most = cells_for(limits_.longest_payload) * kPayloadSize;
  if (partial.used + kPayloadSize > most) {
    drop(partial, Aal5Counter::kTooLong);
    return 0;
  }
  if (kept_ + kPayloadSize > limits_.most_kept) {
    drop(partial, Aal5Counter::kNoRoom);
    return 0;
  }
  cells = std::min(
      {cells, (most - partial.used) / kPayloadSize, (limits_.most_kept - kept_) / kPayloadSize});
  const std::size_t size = partial.used + cells * kPayloadSize;
  if (partial.bytes.size() < size) partial.bytes.resize(std::min(2 * size, most));
  return cells;
}

void Aal5Reassembler::finish(const Channel& channel, Partial& partial, Aal5Sink& sink) {
  const Bytes pdu = Bytes(partial.bytes).first(partial.used);
  if (crc32_msb_update(kCrc32MsbPreset, pdu) != kCrc32MsbResidue) {
    drop(partial, Aal5Counter::kBadCrc);
    return;
  }
  const std::byte* const trailer = pdu.data() + pdu.size() - kTrailerSize;
  const std::size_t length = wire::load_be16(trailer + 2);
  if (length == 0) {
    drop(partial, Aal5Counter::kAborted);
  } else if (cells_for(length) * kPayloadSize != pdu.size()) {
    drop(partial, Aal5Counter::kBadLength);
  } else if (length > limits_.longest_payload) {
    drop(partial, Aal5Counter::kTooLong);
  } else {
    forget(partial);
    counters_.add_in_turn(Aal5Counter::kPdus);
    sink.pdu(channel, pdu.first(length), wire::load_u8(trailer));
  }
}

void Aal5Reassembler::forget(Partial& partial) {
  kept_ -= partial.used;
  partial.used = 0;
}

void Aal5Reassembler::drop(Partial& partial, Aal5Counter why) {
  forget(partial);
  counters_.add_in_turn(why);
}

void Aal5Reassembler::expire(std::uint64_t cell_time) {
  for (auto& [channel, partial] : partial_) {
    if (partial.used == 0 || cell_time - partial.last_cell <= limits_.patience) continue;
    drop(partial, Aal5Counter::kTimedOut);
    partial.bytes = {};
  }
}

}  // namespace weft::wan::atm
