// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/lane_receiver.h"

namespace weft::phy {
namespace {

// Training sets in a row that are believed.
constexpr std::uint32_t kBelievedInARow = 2;

}  // namespace

LaneSymbol LaneReceiver::decode(std::uint16_t word) {
  const Decoder::Decoded decoded = decoder_.decode(word);
  if (decoded.code_error) counters_.add(LaneCounter::kCodeErrors);
  if (decoded.disparity_error) counters_.add(LaneCounter::kDisparityErrors);
  const auto seen = sets_.push(decoded.character, decoded.error());
  if (seen && seen->in_a_row >= kBelievedInARow) {
    identifier_ = seen->lane;
    if (seen->inverted && correct_polarity_) {
      aligner_.set_inverted(!aligner_.inverted());
      decoder_ = Decoder(flip(decoder_.disparity()));
    }
  }
  return {decoded.character, decoded.error()};
}

void LaneReceiver::receive(BitSpan bits, std::vector<LaneSymbol>& out) {
  const std::uint64_t commas = aligner_.misplaced_commas();
  const std::uint64_t slips = aligner_.slips();
  const bool inverted = aligner_.inverted();
  words_.clear();
  aligner_.push(bits, words_);
  for (const std::uint16_t word : words_) {
    // It may have turned out on the way that the wires are crossed.
    const unsigned turned = inverted == aligner_.inverted() ? 0 : 0x3FF;
    out.push_back(decode(static_cast<std::uint16_t>(word ^ turned)));
  }
  counters_.add(LaneCounter::kMisplacedCommas, aligner_.misplaced_commas() - commas);
  counters_.add(LaneCounter::kSlips, aligner_.slips() - slips);
}

void LaneReceiver::restart() {
  aligner_.hunt();
  sets_ = OrderedSetReader();
  identifier_.reset();
}

}  // namespace weft::phy
