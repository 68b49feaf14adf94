// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "carrier/ring_memory.h"

namespace weft::carrier {

// One side of two rings, of which each is a stream of bytes. Believes nothing that the other side
// wrote: counts that make no sense are a lie(), after which there is nothing more to be had from
// it. For one thread at a time.
class RingBytes {
 public:
  // Both begin as zeros and stay as long as this; `theirs` may change at any time. All that is
  // written and read is in multiples of `grain`, a power of two.
  RingBytes(RingMemory& ours, const RingMemory& theirs, std::size_t grain = 1)
      : ours_(ours), theirs_(theirs), grain_(grain) {}

  // In words for a person. Whoever finds that the bytes make no sense says so too.
  [[nodiscard]] std::optional<std::string_view> lie() const { return lie_; }
  void lied(std::string_view what) {
    if (!lie_) lie_ = what;
  }

  // --- what is sent: the other side sees it after publish() -------------------------------------
  // Bytes that there is room for.
  [[nodiscard]] std::uint64_t room();
  // Whether there is room for so many. False: the other side wakes this one when it has read.
  [[nodiscard]] bool await_room(std::uint64_t wanted);
  // Where the next byte goes, up to the end of the memory, and that so many have gone there.
  [[nodiscard]] MutableBytes place() {
    return MutableBytes(ours_.bytes).subspan(written_ % kRingBytes);
  }
  void wrote(std::size_t bytes) { written_ += bytes; }
  // Copies as many of them as there is room for; how many.
  [[nodiscard]] std::size_t put(Bytes bytes);

  // --- what arrives -----------------------------------------------------------------------------
  // Looks for more than has_come(); whether there is anything.
  [[nodiscard]] bool has_more();
  // The next bytes that lie in one piece, where the other side can change them at any time: copy,
  // then judge. And that so many of them are done with.
  [[nodiscard]] Bytes has_come() const {
    const std::size_t at = read_ % kRingBytes;
    const auto there = std::min<std::uint64_t>(their_written_ - read_, kRingBytes - at);
    return Bytes(theirs_.bytes).subspan(at, static_cast<std::size_t>(there));
  }
  void taken(std::size_t bytes) { read_ += bytes; }
  // Copies as many as there are and fit in; how many.
  [[nodiscard]] std::size_t take(MutableBytes out);

  // --- both ------------------------------------------------------------------------------------
  // Shows the other side what has changed. True: it sleeps for that and is to be woken.
  [[nodiscard]] bool publish();
  // From now on the other side wakes this one when it has written something. False, and it does
  // not: it has written meanwhile.
  [[nodiscard]] bool sleep();
  void look() { set_sleeps(sleeps_ & ~std::uint32_t{kUntilWritten}); }

 private:
  void set_sleeps(std::uint32_t sleeps) {
    if (sleeps == sleeps_) return;
    sleeps_ = sleeps;
    ours_.sleeps.store(sleeps);
  }

  RingMemory& ours_;
  const RingMemory& theirs_;
  const std::size_t grain_;
  std::optional<std::string_view> lie_;
  // This side's own, of which the shared counts are copies.
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::uint32_t sleeps_ = 0;
  std::uint64_t shown_written_ = 0;
  std::uint64_t shown_read_ = 0;
  // What was last believed of theirs.
  std::uint64_t their_read_ = 0;
  std::uint64_t their_written_ = 0;
};

inline std::uint64_t RingBytes::room() {
  if (lie_) return 0;
  const std::uint64_t read = theirs_.read.load();
  if (written_ - read > written_ - their_read_) {
    lied("its count of bytes read is out of range");
    return 0;
  }
  their_read_ = read;
  return kRingBytes - (written_ - read);
}

// Said before the last look, so that the other side, which looks after it has read, wakes this one.
inline bool RingBytes::await_room(std::uint64_t wanted) {
  if (room() < wanted) {
    set_sleeps(sleeps_ | kUntilRead);
    if (room() < wanted) return false;
  }
  set_sleeps(sleeps_ & ~std::uint32_t{kUntilRead});
  return true;
}

inline bool RingBytes::has_more() {
  if (lie_) return false;
  const std::uint64_t written = theirs_.written.load();
  if (written - read_ > kRingBytes || written - read_ < their_written_ - read_ ||
      written % grain_ != 0) {
    lied("its count of bytes written is out of range");
    return false;
  }
  their_written_ = written;
  return written != read_;
}

}  // namespace weft::carrier
