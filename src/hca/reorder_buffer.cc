// SPDX-License-Identifier: Apache-2.0
#include "hca/reorder_buffer.h"

#include <algorithm>
#include <cassert>

namespace weft::hca {

ReorderBuffer::Insert ReorderBuffer::insert(const InPacket& packet, Psn expected) {
  const std::int32_t ahead = Psn::diff(packet.psn, expected);
  assert(ahead > 0);
  if (ahead > static_cast<std::int32_t>(kMaxPackets)) return Insert::kNoRoom;
  if (find(packet.psn) != nullptr) return Insert::kDuplicate;
  const std::size_t size = packet.extended.size() + packet.payload.size();
  if (bytes_ + size > kMaxBytes) return Insert::kNoRoom;

  if (slots_.empty()) slots_.resize(kMaxPackets);
  std::unique_ptr<Slot>& place = slots_[index(packet.psn)];
  // Everything kept is within kMaxPackets of `expected`, so no two share a place.
  assert(place == nullptr);
  place = std::make_unique<Slot>();
  Slot& slot = *place;
  slot.bytes.reserve(size);
  slot.bytes.assign(packet.extended.begin(), packet.extended.end());
  slot.bytes.insert(slot.bytes.end(), packet.payload.begin(), packet.payload.end());
  slot.packet = packet;
  slot.packet.extended = Bytes(slot.bytes).first(packet.extended.size());
  slot.packet.payload = Bytes(slot.bytes).subspan(packet.extended.size());

  if (count_ == 0 || Psn::diff(packet.psn, end_) >= 0) end_ = packet.psn + 1;
  ++count_;
  bytes_ += size;
  used_ = true;
  return Insert::kKept;
}

const InPacket* ReorderBuffer::find(Psn psn) const {
  if (count_ == 0) return nullptr;
  const std::unique_ptr<Slot>& slot = slots_[index(psn)];
  return slot != nullptr && slot->packet.psn == psn ? &slot->packet : nullptr;
}

void ReorderBuffer::remove(Psn psn) {
  assert(find(psn) != nullptr);
  std::unique_ptr<Slot>& slot = slots_[index(psn)];
  bytes_ -= slot->bytes.size();
  --count_;
  slot.reset();
}

void ReorderBuffer::remove_before(Psn from, Psn expected) {
  // A read covers many PSNs, of which at most kMaxPackets can be here.
  const std::int32_t passed = Psn::diff(expected, from);
  const auto most = std::min(static_cast<std::uint32_t>(passed), kMaxPackets + 1);
  for (std::uint32_t i = 0; i < most && count_ > 0; ++i) {
    if (find(from + i) != nullptr) remove(from + i);
  }
}

void ReorderBuffer::rest() {
  if (count_ == 0 && !used_ && !slots_.empty()) clear();
  used_ = false;
}

}  // namespace weft::hca
