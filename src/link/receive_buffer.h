// SPDX-License-Identifier: Apache-2.0
// What a port can take in, counted: 64-byte blocks for each data VL, packets for VL15 (IBA 7.6.4,
// 7.9.4). Memory is the packet pool's business; this is the accounting that credits come from.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/ids.h"

namespace weft::link {

inline constexpr std::size_t kVls = 16;
inline constexpr Vl kVl15{15};  // management: no credits, ahead of all others (IBA 7.6.4)

class ReceiveBuffer;

// Space that a packet takes in the receive buffer of the port where it came in. While somebody
// holds it, the sender at the other end of that link has as much less credit. Copies of a multicast
// packet share it: the last one to go gives it back. For one thread at a time.
class BufferHold {
 public:
  BufferHold() = default;
  BufferHold(const BufferHold&) = delete;
  BufferHold(BufferHold&& other) noexcept { take(other); }
  BufferHold& operator=(const BufferHold&) = delete;
  BufferHold& operator=(BufferHold&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~BufferHold() { release(); }

  // Another hold of the same space; an empty one of an empty one.
  [[nodiscard]] BufferHold share();
  inline void release();
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  friend class ReceiveBuffer;
  void take(BufferHold& other) noexcept {
    buffer_ = std::exchange(other.buffer_, nullptr);
    amount_ = other.amount_;
    vl_ = other.vl_;
    if (other.is_shared()) take_place(other);
  }
  [[nodiscard]] bool is_shared() const { return next_ != nullptr || previous_ != nullptr; }
  void take_place(BufferHold& other) noexcept;
  void leave_others();

  ReceiveBuffer* buffer_ = nullptr;
  // All holds of one space, in a list.
  BufferHold* next_ = nullptr;
  BufferHold* previous_ = nullptr;
  std::uint16_t amount_ = 0;
  Vl vl_{};
};

class ReceiveBuffer {
 public:
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void space_freed(Vl vl) = 0;
  };
  struct Retire {
    void operator()(ReceiveBuffer* buffer) const;
  };
  // Letting go of it ends the calls to the observer; holds may outlive that.
  using Ptr = std::unique_ptr<ReceiveBuffer, Retire>;

  [[nodiscard]] static Ptr make(std::uint32_t data_blocks, std::uint32_t vl15_packets,
                                Observer& observer);
  ReceiveBuffer(const ReceiveBuffer&) = delete;
  ReceiveBuffer& operator=(const ReceiveBuffer&) = delete;

  // `amount` is blocks; of VL15, 1. Empty when there is not so much left.
  [[nodiscard]] inline BufferHold take(Vl vl, std::uint16_t amount);
  // The same into a hold, which lets go of what it holds. False: it is empty now.
  [[nodiscard]] inline bool take(Vl vl, std::uint16_t amount, BufferHold& hold);
  [[nodiscard]] std::uint32_t free(Vl vl) const { return capacity(vl) - used_[vl.value()]; }
  [[nodiscard]] std::uint32_t capacity(Vl vl) const {
    return vl == kVl15 ? vl15_packets_ : data_blocks_;
  }

 private:
  friend class BufferHold;
  ReceiveBuffer(std::uint32_t data_blocks, std::uint32_t vl15_packets, Observer& observer)
      : data_blocks_(data_blocks), vl15_packets_(vl15_packets), observer_(&observer) {}
  ~ReceiveBuffer() = default;
  inline void give_back(Vl vl, std::uint16_t amount);

  const std::uint32_t data_blocks_;
  const std::uint32_t vl15_packets_;
  Observer* observer_;  // null: retired
  std::uint32_t spaces_ = 0;
  std::array<std::uint32_t, kVls> used_{};
};

// Each packet comes by these at every hop.
inline void BufferHold::release() {
  ReceiveBuffer* const buffer = std::exchange(buffer_, nullptr);
  if (buffer == nullptr) return;
  if (is_shared()) return leave_others();
  buffer->give_back(vl_, amount_);
}

inline BufferHold ReceiveBuffer::take(Vl vl, std::uint16_t amount) {
  BufferHold hold;
  (void)take(vl, amount, hold);
  return hold;
}

inline bool ReceiveBuffer::take(Vl vl, std::uint16_t amount, BufferHold& hold) {
  hold.release();
  if (amount > free(vl)) return false;
  used_[vl.value()] += amount;
  ++spaces_;
  hold.buffer_ = this;
  hold.amount_ = amount;
  hold.vl_ = vl;
  return true;
}

inline void ReceiveBuffer::give_back(Vl vl, std::uint16_t amount) {
  assert(spaces_ > 0 && used_[vl.value()] >= amount);
  --spaces_;
  used_[vl.value()] -= amount;
  if (observer_ != nullptr) return observer_->space_freed(vl);
  if (spaces_ == 0) delete this;
}

}  // namespace weft::link
