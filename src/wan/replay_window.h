// SPDX-License-Identifier: Apache-2.0
// Which of the newest sequence numbers have arrived, so that none is taken twice (RFC 4303, 3.4.3).
// A ring of words, as RFC 6479 has it: the window moves by clearing words, not by shifting bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::wan {

class ReplayWindow {
 public:
  // How many numbers back from the highest one are told apart: a datagram may be overtaken by one
  // less. Memory: an eighth of it, up to twice that.
  static constexpr std::size_t kUsualSize = 65536;

  enum class Verdict : std::uint8_t {
    kNew,
    kReplayed,
    kTooOld,  // below the window: nobody knows any more
  };

  // `size`: at least 1.
  explicit ReplayWindow(std::size_t size = kUsualSize);

  // Any number may be asked about; asking changes nothing, so that who forges one moves nothing.
  [[nodiscard]] Verdict look(std::uint64_t sequence) const;
  // `sequence` was proved genuine: what look() said, and it counts as arrived.
  Verdict accept(std::uint64_t sequence);

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  [[nodiscard]] std::uint64_t& word_of(std::uint64_t sequence) {
    return words_[(sequence / 64) & mask_];
  }
  [[nodiscard]] bool is_marked(std::uint64_t sequence) const {
    return (words_[(sequence / 64) & mask_] >> (sequence % 64) & 1) != 0;
  }
  void advance(std::uint64_t sequence);

  std::size_t size_;
  std::vector<std::uint64_t> words_;  // a power of two, and one more than the window spans
  std::uint64_t mask_;
  bool any_ = false;
  std::uint64_t highest_ = 0;  // when any_
};

}  // namespace weft::wan
