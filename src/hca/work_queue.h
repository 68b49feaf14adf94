// SPDX-License-Identifier: Apache-2.0
// Send and receive queues: rings of work-request slots. Both begin empty and grow in steps to the
// depth they were created with, so that ten thousand idle queue pairs cost next to nothing; once
// grown, posting and taking allocate nothing.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "hca/types.h"

namespace weft::hca {

// `Slot` is a work request without its pieces and has a member `std::uint32_t piece_count`.
template <class Slot>
class WorkQueue {
 public:
  // At most `depth` requests of at most `max_pieces` pieces.
  WorkQueue(std::uint32_t depth, std::uint32_t max_pieces)
      : depth_(depth), max_pieces_(max_pieces) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool full() const { return count_ == depth_; }
  [[nodiscard]] std::size_t room() const { return depth_ - count_; }

  // The `n`th oldest request. The reference is good until the next push.
  [[nodiscard]] Slot& at(std::size_t n) { return slots_[index(n)]; }
  [[nodiscard]] std::span<const Sge> pieces(std::size_t n) const {
    const std::size_t i = index(n);
    return {pieces_.data() + i * max_pieces_, slots_[i].piece_count};
  }

  // Not when full, and with at most max_pieces pieces.
  void push(const Slot& slot, std::span<const Sge> pieces) {
    Slot& at = push(pieces);
    at = slot;
    at.piece_count = static_cast<std::uint32_t>(pieces.size());
  }
  // The same, to be described where it is: what has just been written in parts is slow to copy.
  // All but its piece_count is as an earlier request has left it.
  Slot& push(std::span<const Sge> pieces) {
    assert(!full() && pieces.size() <= max_pieces_);
    if (count_ == slots_.size()) grow();
    const std::size_t i = index(count_++);
    Slot& slot = slots_[i];
    slot.piece_count = static_cast<std::uint32_t>(pieces.size());
    Sge* to = pieces_.data() + i * max_pieces_;
    for (const Sge& piece : pieces)
      *to++ = piece;
    return slot;
  }
  void pop_oldest() {
    assert(!empty());
    head_ = index(1);
    --count_;
  }
  void pop_newest() {
    assert(!empty());
    --count_;
  }

 private:
  static constexpr std::size_t kFirstStep = 16;

  [[nodiscard]] std::size_t index(std::size_t n) const {
    assert(n <= count_ && !slots_.empty());
    const std::size_t i = head_ + n;
    return i < slots_.size() ? i : i - slots_.size();
  }

  void grow() {
    const std::size_t capacity =
        std::min<std::size_t>(depth_, std::max(kFirstStep, slots_.size() * 2));
    assert(capacity > count_);
    std::vector<Slot> slots(capacity);
    std::vector<Sge> pieces(capacity * max_pieces_);
    for (std::size_t n = 0; n < count_; ++n) {
      const auto from = this->pieces(n);
      slots[n] = at(n);
      std::copy(from.begin(), from.end(),
                pieces.begin() + static_cast<std::ptrdiff_t>(n * max_pieces_));
    }
    slots_ = std::move(slots);
    pieces_ = std::move(pieces);
    head_ = 0;
  }

  std::vector<Slot> slots_;
  std::vector<Sge> pieces_;  // max_pieces_ for each slot
  std::uint32_t depth_;
  std::uint32_t max_pieces_;
  std::size_t head_ = 0;  // oldest
  std::size_t count_ = 0;
};

// Equal areas of memory for inline data. An area stays where it is until it is given back, however
// many more are taken: a burst on its way refers to it.
class InlineAreas {
 public:
  explicit InlineAreas(std::uint32_t bytes_each) : bytes_each_(bytes_each) {}

  [[nodiscard]] std::uint32_t take() {
    if (free_.empty()) add_chunk();
    const std::uint32_t area = free_.back();
    free_.pop_back();
    return area;
  }
  void give_back(std::uint32_t area) {
    assert(area < chunks_.size() * kPerChunk && free_.size() < free_.capacity());
    free_.push_back(area);
  }
  [[nodiscard]] MutableBytes bytes(std::uint32_t area) {
    assert(area < chunks_.size() * kPerChunk);
    return {chunks_[area / kPerChunk].get() + std::size_t{area % kPerChunk} * bytes_each_,
            bytes_each_};
  }

 private:
  static constexpr std::uint32_t kPerChunk = 16;

  void add_chunk() {
    const auto first = static_cast<std::uint32_t>(chunks_.size()) * kPerChunk;
    chunks_.push_back(std::make_unique<std::byte[]>(std::size_t{kPerChunk} * bytes_each_));
    free_.reserve(chunks_.size() * kPerChunk);  // so that giving back never allocates
    for (std::uint32_t i = kPerChunk; i-- > 0;)
      free_.push_back(first + i);
  }

  std::uint32_t bytes_each_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<std::uint32_t> free_;
};

struct SendSlot {
  static constexpr std::uint32_t kNoInline = 0xFFFF'FFFF;
  std::uint64_t wr_id = 0;
  std::uint64_t length = 0;  // message bytes; may exceed what the wire takes
  Path path{};
  Qpn remote_qpn{};
  QKey remote_qkey{};
  std::uint32_t immediate = 0;
  std::uint32_t piece_count = 0;
  std::uint32_t inline_area = kNoInline;
  SendOpcode opcode = SendOpcode::kSend;
  bool signaled = false;
  bool solicited = false;

  [[nodiscard]] bool is_inline() const { return inline_area != kNoInline; }
};

struct ReceiveSlot {
  std::uint64_t wr_id = 0;
  std::uint64_t length = 0;  // bytes of all pieces
  std::uint32_t piece_count = 0;
};

using ReceiveQueue = WorkQueue<ReceiveSlot>;

// Not when full, and with at most as many pieces as the queue takes.
inline void push_receive(ReceiveQueue& queue, const ReceiveRequest& request) {
  ReceiveSlot& slot = queue.push(request.pieces);
  slot.wr_id = request.wr_id;
  slot.length = 0;
  for (const Sge& piece : request.pieces)
    slot.length += piece.length;
}

}  // namespace weft::hca
