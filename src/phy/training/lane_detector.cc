// SPDX-License-Identifier: Apache-2.0
#include "phy/training/lane_detector.h"

#include <algorithm>
#include <utility>

namespace weft::phy {

void LaneDetector::receive(BitSpan bits) {
  if (input_.signal == LaneSignal::kSilence) input_ = {.signal = LaneSignal::kNoise};
  codes_.clear();
  aligner_.push(bits, codes_);
  for (const std::uint16_t code : codes_)
    symbol(code);
}

void LaneDetector::symbol(std::uint16_t code) {
  const Decoder::Decoded decoded = decoder_.decode(code);
  const auto seen = sets_.push(decoded.character, decoded.error());
  if (decoded.error()) {
    if (has_symbols(input_.signal)) ++errors_;
    clean_ = 0;
    weight_ += kErrorWeight;
    if (weight_ > kNoiseLimit) {
      weight_ = 0;
      aligner_.hunt();
      sets_ = OrderedSetReader();
      input_ = {.signal = LaneSignal::kNoise};
    }
    return;
  }
  weight_ = weight_ > 0 ? weight_ - 1 : 0;
  clean_ = decoded.character == kCom ? 0 : clean_ + 1;
  if (seen && seen->set != OrderedSet::kSkip && seen->in_a_row >= kSetsInARow) {
    input_ = {.signal = seen->set == OrderedSet::kTs1 ? LaneSignal::kTs1 : LaneSignal::kTs2,
              .lane = seen->lane,
              .inverted = seen->inverted};
  }
  if (clean_ < kCleanSymbols) return;
  if (!is_past_training(input_.signal)) input_ = {.signal = LaneSignal::kIdle};
  const bool is_packet = decoded.character == kSdp || decoded.character == kSlp;
  if (is_packet) input_.signal = LaneSignal::kPackets;
}

void LaneDetector::restart() {
  aligner_.hunt();
  sets_ = OrderedSetReader();
  clean_ = 0;
  weight_ = 0;
  input_ = {};
}

void LaneDetector::silence() {
  if (input_.signal != LaneSignal::kSilence) restart();
}

void LaneDetector::set_inverted(bool inverted) {
  if (inverted == aligner_.inverted()) return;
  restart();
  aligner_.set_inverted(inverted);
}

std::uint32_t LaneDetector::take_errors() {
  return std::exchange(errors_, 0);
}

}  // namespace weft::phy
