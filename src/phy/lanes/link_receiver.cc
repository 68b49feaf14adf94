// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/link_receiver.h"

#include <algorithm>
#include <cassert>

namespace weft::phy {

LinkReceiver::LinkReceiver(const Options& options)
    : options_(options),
      bits_(lanes_of(options.width)),
      deskew_(lanes_of(options.width), counters_),
      elastic_(lanes_of(options.width), counters_),
      reader_(options.width, counters_, options.longest_packet) {
  lanes_.reserve(bits_.size());
  for (std::size_t lane = 0; lane < bits_.size(); ++lane) {
    lanes_.emplace_back(counters_, options.correct_polarity);
  }
}

void LinkReceiver::receive(std::size_t lane, BitSpan bits) {
  assert(lane < lanes_.size());
  symbols_.clear();
  lanes_[lane].receive(bits, symbols_);
  bits_[lane] += bits.count;
  std::uint64_t bit = bits_[lane] - lanes_[lane].pending_bits() - kSymbolBits * symbols_.size();
  for (const LaneSymbol& symbol : symbols_) {
    bit += kSymbolBits;
    deskew_.push(lane, symbol, bit);
  }
  if (options_.correct_reversal) find_order();
  if (!options_.own_clock) return;
  while (const auto entry = next_column())
    elastic_.push(entry->column, entry->after_gap);
}

void LinkReceiver::silence(std::size_t lane, std::size_t bits) {
  lanes_[lane].silence();
  bits_[lane] += bits;
}

void LinkReceiver::set_inverted(std::size_t lane, bool inverted) {
  assert(!options_.correct_polarity);
  if (inverted == lanes_[lane].inverted()) return;
  lanes_[lane].set_inverted(inverted);
  deskew_.restart();
}

void LinkReceiver::set_reversed(bool reversed) {
  assert(!options_.correct_reversal);
  reversed_ = reversed;
}

// All lanes say that they are where they belong, or all that they are where the opposite one does.
void LinkReceiver::find_order() {
  bool in_order = true;
  bool in_reverse = true;
  for (std::size_t place = 0; place < lanes_.size(); ++place) {
    const auto lane = lanes_[place].identifier();
    if (!lane) return;
    in_order = in_order && *lane == place;
    in_reverse = in_reverse && *lane == lanes_.size() - 1 - place;
  }
  if (in_order != in_reverse) reversed_ = in_reverse;
}

// The next column as it was sent.
std::optional<ElasticBuffer::Entry> LinkReceiver::next_column() {
  auto column = deskew_.pop();
  if (!column) return std::nullopt;
  const auto end = column->begin() + static_cast<std::ptrdiff_t>(lanes_.size());
  if (std::any_of(column->begin(), end, [](const LaneSymbol& symbol) { return symbol.error; })) {
    counters_.add(LaneCounter::kSymbolErrors);
  }
  if (reversed_) std::reverse(column->begin(), end);
  return ElasticBuffer::Entry{*column, deskew_.take_break()};
}

void LinkReceiver::read(PacketSink& sink) {
  assert(!options_.own_clock);
  while (const auto entry = next_column()) {
    if (entry->after_gap) reader_.read_gap();
    reader_.read(entry->column, sink);
  }
}

void LinkReceiver::tick(std::size_t symbol_times, PacketSink& sink) {
  assert(options_.own_clock);
  for (; symbol_times != 0; --symbol_times) {
    const auto entry = elastic_.pop();
    if (!entry) continue;
    if (entry->after_gap) reader_.read_gap();
    reader_.read(entry->column, sink);
  }
}

void LinkReceiver::restart(PacketSink& sink) {
  for (LaneReceiver& lane : lanes_)
    lane.restart();
  std::fill(bits_.begin(), bits_.end(), 0);
  deskew_.restart();
  elastic_.restart();
  reader_.end(sink);
}

}  // namespace weft::phy
