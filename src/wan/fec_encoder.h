// SPDX-License-Identifier: Apache-2.0
// Forward error correction, the sending half: runs of frames with packets are blocks, and what is
// sent behind a block lets the other end make again what of it is lost. The frames themselves are
// sent as they are. A symbol of the code is
//
//   length   2 bytes, of the frame
//   frame    all of it, head included
//   zeros    up to the length of the block's longest
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "wan/erasure_code.h"
#include "wan/fec_code.h"
#include "wan/frame.h"

namespace weft::wan {

class FecEncoder {
 public:
  // When nothing has joined a block for so long it is closed before it is full.
  static constexpr Duration kPause = 1ms;
  // The numbers of a block's frames, the first one included, as RepairItem has room for.
  static constexpr std::uint64_t kSpan = 64;
  // By how much a repair frame is longer than the longest frame of its block.
  static constexpr std::size_t kOverhead =
      FrameHead::kSize + RepairItem::kSize + RepairItem::kLengthSize;

  // From now on, with this code; the block that is not closed is forgotten.
  void begin(const FecCode& code);

  // Frame `number` leaves, after all frames of smaller ones. Not while repairs are due; with a
  // code.
  void cover(std::uint64_t number, std::span<const Bytes> parts, std::size_t size,
             std::uint8_t traffic_class, Time now);

  [[nodiscard]] bool any() const { return code_.any(); }
  // The block is full: nothing joins it any more, and its repairs are due.
  [[nodiscard]] bool full() const { return full_; }
  // Nothing has joined it for long: if nothing is about to, its repairs are due.
  [[nodiscard]] bool pauses(Time now) const { return count_ != 0 && now >= last_at_ + kPause; }
  [[nodiscard]] std::optional<Time> deadline() const;

  // Of the block: bytes of a frame with a repair, and what marks it.
  [[nodiscard]] std::size_t repair_size() const {
    return symbol_size_ + kOverhead - RepairItem::kLengthSize;
  }
  [[nodiscard]] std::uint8_t traffic_class() const { return traffic_class_; }
  // The next repair of the block, for frame `number`; after the last one the next block begins. Its
  // symbol is good until then.
  [[nodiscard]] RepairItem take(std::uint64_t number, Time now);
  // No path is wide enough for its repairs any more.
  void give_up() { count_ = 0, full_ = false; }

  // From the first frame of a block to its repairs, lately.
  [[nodiscard]] Duration delay() const { return delay_; }

 private:
  void open(std::uint64_t number, std::uint8_t traffic_class, Time now);

  FecCode code_;
  std::optional<SymbolSums> coefficients_;
  std::vector<std::vector<std::byte>> sums_;  // the repair symbols
  // Of the block.
  std::size_t count_ = 0;  // frames
  bool full_ = false;
  std::uint8_t sent_ = 0;  // repairs
  std::uint64_t first_ = 0;
  std::uint64_t members_ = 0;  // bit n: frame first_ + n
  std::uint32_t check_ = 0;    // the register
  std::size_t symbol_size_ = 0;
  std::uint8_t traffic_class_ = 0;
  Time opened_at_{};
  Time last_at_{};
  Duration delay_ = 0ns;
};

}  // namespace weft::wan
