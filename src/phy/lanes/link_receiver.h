// SPDX-License-Identifier: Apache-2.0
// The receiving end of a link: bits of its lanes become packets.
//
//   bits > symbols (lane_receiver.h) > columns (deskew.h) > own clock (elastic_buffer.h) > packets
//
// It corrects crossed wires and lanes in reversed order by what training sets say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phy/code/packed_bits.h"
#include "phy/lanes/deskew.h"
#include "phy/lanes/elastic_buffer.h"
#include "phy/lanes/lane_counters.h"
#include "phy/lanes/lane_receiver.h"
#include "phy/lanes/packet_reader.h"
#include "phy/link_width.h"

namespace weft::phy {

class LinkReceiver {
 public:
  struct Options {
    LinkWidth width = LinkWidth::k1x;
    // Whether tick() says when symbols are read; else they are as soon as they have come.
    bool own_clock = false;
    bool correct_polarity = true;
    bool correct_reversal = true;
    std::size_t longest_packet = PacketReader::kUsualLongest;  // in bytes, CRCs included
  };

  explicit LinkReceiver(const Options& options);
  LinkReceiver(const LinkReceiver&) = delete;
  LinkReceiver& operator=(const LinkReceiver&) = delete;

  // The next bits of the lane at place `lane`, from 0. The n-th bit of every lane, since this
  // exists or was restarted, came at the same time. With an own clock, lanes take turns every few
  // symbols, as do this and tick().
  void receive(std::size_t lane, BitSpan bits);
  // No signal at that place for the time of so many bits.
  void silence(std::size_t lane, std::size_t bits);
  // Whether the wires of a place are crossed, and the lanes in reversed order, where the receiver
  // does not correct that itself: as whoever trains the link has found.
  void set_inverted(std::size_t lane, bool inverted);
  void set_reversed(bool reversed);
  // Without an own clock: hands out the packets that are complete.
  void read(PacketSink& sink);
  // With one: so many symbol times have passed.
  void tick(std::size_t symbol_times, PacketSink& sink);

  // Looks for symbols and for the lanes' skew again, as for a new signal: the next bits of all
  // lanes came at the same time. A packet that is under way has ended.
  void restart(PacketSink& sink);

  // Symbols have been found on all lanes, and the lanes brought in step.
  [[nodiscard]] bool in_step() const { return deskew_.in_step(); }
  // The lanes are in the opposite order: lane 0 is at the last place.
  [[nodiscard]] bool reversed() const { return reversed_; }
  [[nodiscard]] const LaneReceiver& lane(std::size_t place) const { return lanes_[place]; }
  // LaneReceiver::take_errors() of a place.
  [[nodiscard]] std::uint32_t take_errors(std::size_t place) { return lanes_[place].take_errors(); }
  [[nodiscard]] const LaneCounters& counters() const { return counters_; }

 private:
  void find_order();
  std::optional<ElasticBuffer::Entry> next_column();

  const Options options_;
  LaneCounters counters_;
  std::vector<LaneReceiver> lanes_;
  std::vector<std::uint64_t> bits_;  // that came, of each lane
  Deskew deskew_;
  ElasticBuffer elastic_;
  PacketReader reader_;
  std::vector<LaneSymbol> symbols_;
  bool reversed_ = false;
};

}  // namespace weft::phy
