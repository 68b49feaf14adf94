// SPDX-License-Identifier: Apache-2.0
// Forward error correction, the receiving half: frames that have come are kept for a while, and
// those of a block that have not are made again when as many of its repairs have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "wan/fec_code.h"
#include "wan/frame.h"
#include "wan/tunnel_counters.h"

namespace weft::wan {

class FecDecoder {
 public:
  // Blocks whose repairs wait for more of them, at most.
  static constexpr std::size_t kMostBlocks = 8;
  // Frames that are kept, at most; each has kLongestFrame bytes at most.
  static constexpr std::size_t kMostKept = 256;

  explicit FecDecoder(TunnelCounters& counters) : counters_(counters) {}

  // From now on, with this code; all of the one before is forgotten.
  void begin(const FecCode& code);

  // Frame `number`, which has packets, has come. It is copied.
  void keep(std::uint64_t number, Bytes frame);
  // A repair has come in frame `number`. What it repairs is then in next().
  void take(const RepairItem& item, std::uint64_t number);

  struct Recovered {
    std::uint64_t number = 0;
    Bytes frame;  // until anything else is kept or taken
  };
  // A frame that had been lost, once. It is what the other end has sent, as far as a checksum tells
  // that; whether such a frame may be is to be found out as of any that comes.
  [[nodiscard]] std::optional<Recovered> next();

 private:
  struct Kept {
    std::optional<std::uint64_t> number;
    std::vector<std::byte> frame;
  };
  struct Repair {
    std::uint8_t index = 0;
    std::vector<std::byte> symbol;
  };
  struct Block {
    std::uint64_t first = 0;
    std::uint64_t members = 0;
    std::uint32_t check = 0;
    std::vector<Repair> repairs;  // of one length, and different indices
  };
  // A frame of a block: which one of it, and its number.
  struct Member {
    std::size_t index = 0;
    std::uint64_t number = 0;
  };
  using Symbols = std::vector<std::vector<std::byte>>;

  [[nodiscard]] Kept& slot(std::uint64_t number) { return kept_[number % kept_.size()]; }
  [[nodiscard]] const Kept* find(std::uint64_t number) const;
  [[nodiscard]] static std::vector<Member> members_of(const Block& block);
  [[nodiscard]] std::vector<Member> missing(const Block& block) const;
  [[nodiscard]] Block* block_of(const RepairItem& item, std::uint64_t first);
  // Whether it needs the block no more.
  [[nodiscard]] bool finish(const Block& block);
  // Nothing: they do not fit together.
  [[nodiscard]] std::optional<Symbols> solve(const Block& block,
                                             const std::vector<Member>& missing) const;
  [[nodiscard]] bool fits(const Block& block, const std::vector<Member>& missing,
                          const Symbols& symbols) const;
  [[nodiscard]] bool is_old(std::uint64_t number) const { return number + kept_.size() < end_; }
  void advance(std::uint64_t number);
  void forget(const Block& block);

  TunnelCounters& counters_;
  FecCode code_;
  std::uint64_t end_ = 0;     // one beyond the newest number
  std::vector<Kept> kept_;    // by number, modulo how many there are; none is_old()
  std::deque<Block> blocks_;  // in which something is missing
  std::deque<std::uint64_t> recovered_;
};

}  // namespace weft::wan
