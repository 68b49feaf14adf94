// SPDX-License-Identifier: Apache-2.0
#include "link/receive_buffer.h"

#include <cassert>
#include <utility>

namespace weft::link {

void BufferHold::take(BufferHold& other) noexcept {
  buffer_ = std::exchange(other.buffer_, nullptr);
  amount_ = other.amount_;
  vl_ = other.vl_;
  if (other.next_ == &other) return;  // alone in its ring, as we are now
  next_ = std::exchange(other.next_, &other);
  previous_ = std::exchange(other.previous_, &other);
  next_->previous_ = this;
  previous_->next_ = this;
}

BufferHold BufferHold::share() {
  BufferHold other;
  if (buffer_ == nullptr) return other;
  other.buffer_ = buffer_;
  other.amount_ = amount_;
  other.vl_ = vl_;
  other.next_ = std::exchange(next_, &other);
  other.previous_ = this;
  other.next_->previous_ = &other;
  return other;
}

void BufferHold::release() {
  ReceiveBuffer* const buffer = std::exchange(buffer_, nullptr);
  if (buffer == nullptr) return;
  if (next_ == this) return buffer->give_back(vl_, amount_);
  next_->previous_ = previous_;
  previous_->next_ = next_;
  next_ = previous_ = this;
}

ReceiveBuffer::Ptr ReceiveBuffer::make(std::uint32_t data_blocks, std::uint32_t vl15_packets,
                                       Observer& observer) {
  return Ptr(new ReceiveBuffer(data_blocks, vl15_packets, observer));
}

void ReceiveBuffer::Retire::operator()(ReceiveBuffer* buffer) const {
  buffer->observer_ = nullptr;
  if (buffer->spaces_ == 0) delete buffer;
}

BufferHold ReceiveBuffer::take(Vl vl, std::uint16_t amount) {
  BufferHold hold;
  if (amount > free(vl)) return hold;
  used_[vl.value()] += amount;
  ++spaces_;
  hold.buffer_ = this;
  hold.amount_ = amount;
  hold.vl_ = vl;
  return hold;
}

void ReceiveBuffer::give_back(Vl vl, std::uint16_t amount) {
  assert(spaces_ > 0 && used_[vl.value()] >= amount);
  --spaces_;
  used_[vl.value()] -= amount;
  if (observer_ != nullptr) return observer_->space_freed(vl);
  if (spaces_ == 0) delete this;
}

}  // namespace weft::link
