// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/lane_receiver.h"

#include <utility>

namespace weft::phy {
namespace {

// Training sets in a row that are believed where they say which lane it is, and that its wires are
// crossed.
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
  if (decoded.error()) {
    note_error();
  } else {
    note_symbol(decoded.character, seen);
  }
  return {decoded.character, decoded.error()};
}

void LaneReceiver::note_error() {
  if (has_symbols(input_.signal)) ++errors_;
  clean_ = 0;
  weight_ += kErrorWeight;
  if (weight_ <= kNoiseLimit) return;
  weight_ = 0;
  aligner_.hunt();
  sets_ = OrderedSetReader();
  input_ = {.signal = LaneSignal::kNoise};
}

void LaneReceiver::note_symbol(Character character,
                               const std::optional<OrderedSetReader::Seen>& seen) {
  weight_ = weight_ > 0 ? weight_ - 1 : 0;
  clean_ = character == kCom ? 0 : clean_ + 1;
  if (seen && seen->set != OrderedSet::kSkip && seen->in_a_row >= kSetsInARow) {
    input_ = {.signal = seen->set == OrderedSet::kTs1 ? LaneSignal::kTs1 : LaneSignal::kTs2,
              .lane = seen->lane,
              .inverted = seen->inverted};
  }
  if (clean_ < kCleanSymbols) return;
  if (!is_past_training(input_.signal)) input_ = {.signal = LaneSignal::kIdle};
  const bool is_packet = character == kSdp || character == kSlp;
  if (is_packet) input_.signal = LaneSignal::kPackets;
}

void LaneReceiver::receive(BitSpan bits, std::vector<LaneSymbol>& out) {
  if (input_.signal == LaneSignal::kSilence) input_ = {.signal = LaneSignal::kNoise};
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
  aligner_.restart();
  sets_ = OrderedSetReader();
  identifier_.reset();
  clean_ = 0;
  weight_ = 0;
  input_ = {};
}

void LaneReceiver::silence() {
  if (input_.signal != LaneSignal::kSilence) restart();
}

void LaneReceiver::set_inverted(bool inverted) {
  if (inverted == aligner_.inverted()) return;
  restart();
  aligner_.set_inverted(inverted);
}

std::uint32_t LaneReceiver::take_errors() {
  return std::exchange(errors_, 0);
}

}  // namespace weft::phy
