// SPDX-License-Identifier: Apache-2.0
#include "link/receive_buffer.h"

#include <utility>

namespace weft::link {

void BufferHold::take_place(BufferHold& other) noexcept {
  next_ = std::exchange(other.next_, nullptr);
  previous_ = std::exchange(other.previous_, nullptr);
  if (next_ != nullptr) next_->previous_ = this;
  if (previous_ != nullptr) previous_->next_ = this;
}

BufferHold BufferHold::share() {
  BufferHold other;
  if (buffer_ == nullptr) return other;
  other.buffer_ = buffer_;
  other.amount_ = amount_;
  other.vl_ = vl_;
  other.next_ = std::exchange(next_, &other);
  other.previous_ = this;
  if (other.next_ != nullptr) other.next_->previous_ = &other;
  return other;
}

void BufferHold::leave_others() {
  if (next_ != nullptr) next_->previous_ = previous_;
  if (previous_ != nullptr) previous_->next_ = next_;
  next_ = previous_ = nullptr;
}

ReceiveBuffer::Ptr ReceiveBuffer::make(std::uint32_t data_blocks, std::uint32_t vl15_packets,
                                       Observer& observer) {
  return Ptr(new ReceiveBuffer(data_blocks, vl15_packets, observer));
}

void ReceiveBuffer::Retire::operator()(ReceiveBuffer* buffer) const {
  buffer->observer_ = nullptr;
  if (buffer->spaces_ == 0) delete buffer;
}

}  // namespace weft::link
