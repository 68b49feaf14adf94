// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/packet_reader.h"

namespace weft::phy {
namespace {

bool is_start(Character character) {
  return character == kSdp || character == kSlp;
}
bool is_end(Character character) {
  return character == kEgp || character == kEbp;
}

}  // namespace

// The first fault stays: what follows from it says less.
void PacketReader::blame(PacketFault fault) {
  if (fault_ == PacketFault::kNone) fault_ = fault;
}

void PacketReader::start(std::size_t lane, const LaneSymbol& symbol) {
  if (lane != 0) {
    counters_.add(LaneCounter::kStraySymbols);
    return;
  }
  in_packet_ = true;
  kind_ = symbol.character == kSdp ? PacketKind::kData : PacketKind::kLink;
  fault_ = PacketFault::kNone;
  if (symbol.error) blame(PacketFault::kSymbolError);
  bytes_.clear();
}

void PacketReader::finish(PacketSink& sink) {
  in_packet_ = false;
  if (!is_packet_size(kind_, bytes_.size())) blame(PacketFault::kMalformed);
  switch (fault_) {
    case PacketFault::kNone:
      counters_.add(kind_ == PacketKind::kData ? LaneCounter::kDataPackets
                                               : LaneCounter::kLinkPackets);
      break;
    case PacketFault::kMarkedBad:
      counters_.add(LaneCounter::kBadByEnd);
      break;
    case PacketFault::kSymbolError:
      counters_.add(LaneCounter::kBadBySymbol);
      break;
    case PacketFault::kMalformed:
      counters_.add(LaneCounter::kMalformed);
      break;
    case PacketFault::kOverlong:
      counters_.add(LaneCounter::kOverlong);
      break;
  }
  sink.receive({.kind = kind_, .fault = fault_, .bytes = bytes_});
}

void PacketReader::outside(std::size_t lane, const LaneSymbol& symbol) {
  const Character character = symbol.character;
  if (!character.control || character == kCom || character == kSkp) return;
  if (is_start(character)) {
    start(lane, symbol);
  } else if (character != kPad || !padding_) {
    counters_.add(LaneCounter::kStraySymbols);
  }
}

void PacketReader::inside(std::size_t lane, const LaneSymbol& symbol, PacketSink& sink) {
  const Character character = symbol.character;
  if (symbol.error) blame(PacketFault::kSymbolError);
  if (!character.control) {
    if (bytes_.size() < longest_) {
      bytes_.push_back(static_cast<std::byte>(character.value));
      return;
    }
    blame(PacketFault::kOverlong);
    finish(sink);
    return;
  }
  if (is_end(character)) {
    if (!may_end_on(lane)) blame(PacketFault::kMalformed);
    if (character == kEbp) blame(PacketFault::kMarkedBad);
    finish(sink);
    padding_ = true;
    return;
  }
  blame(PacketFault::kMalformed);
  finish(sink);
  if (is_start(character)) start(lane, symbol);
}

void PacketReader::read(const Column& column, PacketSink& sink) {
  padding_ = false;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (in_packet_) {
      inside(lane, column[lane], sink);
    } else {
      outside(lane, column[lane]);
    }
  }
}

void PacketReader::read_gap() {
  if (in_packet_) blame(PacketFault::kSymbolError);
}

void PacketReader::end(PacketSink& sink) {
  if (!in_packet_) return;
  read_gap();
  finish(sink);
}

}  // namespace weft::phy
