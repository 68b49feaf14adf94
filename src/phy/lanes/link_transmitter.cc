// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/link_transmitter.h"

#include <cassert>

namespace weft::phy {
namespace {

// Any that differ, and are not zero.
std::uint16_t idle_seed(std::size_t lane) {
  return static_cast<std::uint16_t>(0x2A5 + 0x61 * lane);
}

}  // namespace

LinkTransmitter::LinkTransmitter(LinkWidth width, bool reversed)
    : width_(width), reversed_(reversed) {
  for (std::size_t lane = 0; lane < lanes_of(width); ++lane) {
    lanes_.push_back({Encoder(), IdleData(idle_seed(lane)), BitVector()});
  }
}

void LinkTransmitter::send_columns(std::span<const Character> characters) {
  assert(characters.size() % lanes_.size() == 0);
  std::size_t lane = 0;
  for (const Character character : characters) {
    Lane& at = lanes_[turn(lane)];
    at.bits.put_symbol(at.encoder.encode(character));
    if (++lane == lanes_.size()) lane = 0;
  }
  symbol_times_ += characters.size() / lanes_.size();
}

void LinkTransmitter::send_skips_due() {
  while (skips_.due(symbol_times_)) {
    skips_.sent();
    characters_.clear();
    for (const Character character : kSkipSet) {
      characters_.insert(characters_.end(), lanes_.size(), character);
    }
    send_columns(characters_);
  }
}

void LinkTransmitter::send_training(OrderedSet set, std::size_t count) {
  for (; count != 0; --count) {
    send_skips_due();
    characters_.resize(kTrainingSetSize * lanes_.size());
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const auto symbols = training_set(set, static_cast<std::uint8_t>(lane));
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        characters_[i * lanes_.size() + lane] = symbols[i];
      }
    }
    send_columns(characters_);
  }
}

void LinkTransmitter::send_idle(std::size_t symbol_times) {
  for (; symbol_times != 0; --symbol_times) {
    send_skips_due();
    characters_.clear();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      characters_.push_back(lanes_[turn(lane)].idle.next());
    }
    send_columns(characters_);
  }
}

void LinkTransmitter::send_packet(PacketKind kind, Bytes bytes, PacketEnd end) {
  send_skips_due();
  characters_.clear();
  append_packet(kind, bytes, end, width_, characters_);
  send_columns(characters_);
}

void LinkTransmitter::clear() {
  for (Lane& lane : lanes_)
    lane.bits.clear();
}

}  // namespace weft::phy
