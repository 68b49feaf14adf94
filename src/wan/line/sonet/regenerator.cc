// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/regenerator.h"

#include <algorithm>

namespace weft::wan::sonet {

Regenerator::Regenerator(Level level, const Trace& expected, const Trace& trace)
    : g_(geometry(level)),
      aligner_(level, *this, defects_, counters_),
      reader_(level, expected, defects_, counters_),
      writer_(level, trace),
      plain_(g_.frame()),
      line_(g_.frame()),
      given_(g_.frame()) {
}

void Regenerator::frame(Bytes line) {
  reader_.take(line);
  if (waiting_.size() == kMostFrames) {
    counters_.add_in_turn(SonetCounter::kOverruns);
    return;
  }
  const MutableBytes plain = reader_.plain();
  waiting_.emplace_back(plain.begin(), plain.end());
}

// What waits has come whole, and is sent.
void Regenerator::alignment_lost() {
  reader_.restart();
  defects_.forget_from(Defect::kTimSection);
}

void Regenerator::fill(MutableBytes octets) {
  while (!octets.empty()) {
    if (given_ == g_.frame()) build();
    const std::size_t size = std::min(octets.size(), g_.frame() - given_);
    std::copy_n(line_.begin() + static_cast<std::ptrdiff_t>(given_), size, octets.begin());
    given_ += size;
    octets = octets.subspan(size);
  }
}

void Regenerator::build() {
  if (sends_on_ && waiting_.empty()) {
    sends_on_ = false;
    counters_.add_in_turn(SonetCounter::kUnderruns);
  }
  if (waiting_.size() >= kFramesToBegin) sends_on_ = true;
  if (sends_on_) {
    plain_.swap(waiting_.front());
    waiting_.pop_front();
  } else {
    std::ranges::fill(plain_, std::byte{0xFF});
    counters_.add_in_turn(SonetCounter::kAisOut);
  }
  counters_.add_in_turn(SonetCounter::kFramesOut);
  (void)writer_.put(plain_, line_);
  given_ = 0;
}

}  // namespace weft::wan::sonet
