// SPDX-License-Identifier: Apache-2.0
// Credit across the WAN, one virtual lane's: what IBA 7.9.4.4 does on a link with 64-byte blocks
// and 12-bit counts, with blocks of any power of two from 64 bytes on, and counts of 64 bits. All
// counts are of blocks since the session began, so an advertisement that is lost, late or doubled
// does no harm: the next one says it all again.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace weft::wan {

// What credit counts: 64 bytes << scale. A packet costs whole blocks.
class BlockSize {
 public:
  static constexpr std::uint8_t kMostScale = 16;  // 4 MiB

  constexpr BlockSize() = default;
  // `scale` is at most kMostScale.
  explicit constexpr BlockSize(std::uint8_t scale) : scale_(scale) { assert(scale <= kMostScale); }

  [[nodiscard]] constexpr std::uint8_t scale() const { return scale_; }
  [[nodiscard]] constexpr std::size_t bytes() const { return std::size_t{64} << scale_; }
  // What so many bytes cost; what fits into so many.
  [[nodiscard]] constexpr std::uint64_t blocks(std::size_t size) const {
    return (std::uint64_t{size} + bytes() - 1) >> (6 + scale_);
  }
  [[nodiscard]] constexpr std::uint64_t whole_blocks(std::uint64_t size) const {
    return size >> (6 + scale_);
  }
  friend constexpr bool operator==(BlockSize, BlockSize) = default;

 private:
  std::uint8_t scale_ = 0;
};

// The most blocks that a FIFO may have: sums of counts stay far from 2^64.
inline constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 48;

// What one end tells the other of a lane, both as a sender and as a receiver.
struct CreditAdvertisement {
  Vl vl{};
  std::uint32_t packets = 0;  // sent on the lane, modulo 2^32
  std::uint64_t sent = 0;     // FCTBS: their blocks, as the receiver counts them
  std::uint64_t limit = 0;    // FCCL: blocks of the other direction that the receiver lets be sent

  friend bool operator==(const CreditAdvertisement&, const CreditAdvertisement&) = default;
};

// The sending half. What a FIFO holds when it is empty may be sent before the first advertisement.
class TunnelSendCredit {
 public:
  // `capacity`: of the FIFO at the other end, at most kMostBlocks.
  explicit TunnelSendCredit(std::uint64_t capacity = 0) : capacity_(capacity), limit_(capacity) {
    assert(capacity <= kMostBlocks);
  }

  enum class Heard : std::uint8_t {
    kMore,     // than was known
    kNothing,  // new: late, doubled, or said again
    kForged,   // more than the FIFO could ever hold beyond what has been sent: refused
  };
  Heard granted(std::uint64_t limit);

  [[nodiscard]] bool allows(std::uint64_t blocks) const { return limit_ - sent_ >= blocks; }
  // `blocks` are allowed.
  void spend(std::uint64_t blocks) {
    assert(allows(blocks));
    sent_ += blocks;
  }

  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t sent_ = 0;  // never more than limit_
  std::uint64_t limit_;
};

// The receiving half. `drained` counts the blocks that have left the FIFO for good, those that were
// lost on the way among them.
class TunnelReceiveCredit {
 public:
  // `longest`: blocks of the longest packet, which a sender with less to spend may be waiting to
  // send.
  explicit TunnelReceiveCredit(std::uint64_t capacity = 0, std::uint64_t longest = 1)
      : capacity_(capacity), longest_(longest), told_(capacity) {
    assert(capacity <= kMostBlocks);
  }

  // Blocks that were sent within what the other end was told. Others are not to be let in: the
  // FIFO has no room for them.
  [[nodiscard]] bool covers(std::uint64_t position, std::uint64_t blocks) const {
    return position <= told_ && blocks <= told_ - position;
  }
  [[nodiscard]] std::uint64_t limit(std::uint64_t drained) const { return drained + capacity_; }
  // Whether the other end is to be told now: it gains enough, or may be waiting. `received`: the
  // blocks that it is known to have sent.
  [[nodiscard]] bool worth_telling(std::uint64_t drained, std::uint64_t received) const;
  // This limit, which never shrinks, goes into an advertisement.
  void tell(std::uint64_t limit);

  [[nodiscard]] std::uint64_t told() const { return told_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t longest_;
  std::uint64_t told_;
};

}  // namespace weft::wan
