// SPDX-License-Identifier: Apache-2.0
// The sending end of a link: what is to be sent becomes bits of its lanes. SKIP sets go out in
// between by themselves, when they are due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "phy/code/code_8b10b.h"
#include "phy/code/idle_data.h"
#include "phy/code/ordered_set.h"
#include "phy/code/packed_bits.h"
#include "phy/lanes/framing.h"
#include "phy/lanes/skip_schedule.h"
#include "phy/link_width.h"

namespace weft::phy {

class LinkTransmitter {
 public:
  // `reversed`: lane 0 goes to the last place (Config.TxRevLanes).
  explicit LinkTransmitter(LinkWidth width, bool reversed = false);
  // From the next column on.
  void set_reversed(bool reversed) { reversed_ = reversed; }

  // Sends `count` times TS1 or TS2, each lane with its identifier.
  void send_training(OrderedSet set, std::size_t count);
  // Sends idle data for so many symbol times, SKIP sets not counted.
  void send_idle(std::size_t symbol_times);
  // Sends a packet, CRCs included. Its size has to be one of is_packet_size.
  void send_packet(PacketKind kind, Bytes bytes, PacketEnd end = PacketEnd::kGood);
  // Sends whole columns of characters, lane 0 of the first one first. There is no SKIP set among
  // them.
  void send_columns(std::span<const Character> characters);

  // What was sent at a place since clear(); all of them have the same number of bits.
  [[nodiscard]] BitSpan bits(std::size_t place) const { return lanes_[place].bits.span(); }
  void clear();
  // Symbol times since this exists.
  [[nodiscard]] std::uint64_t symbol_times() const { return symbol_times_; }

 private:
  struct Lane {
    Encoder encoder;
    IdleData idle;
    BitVector bits;
  };

  void send_skips_due();
  // The lane at a place, or of an order: they are the same or each other's opposite.
  [[nodiscard]] std::size_t turn(std::size_t lane) const {
    return reversed_ ? lanes_.size() - 1 - lane : lane;
  }

  const LinkWidth width_;
  bool reversed_;
  std::vector<Lane> lanes_;  // by place
  SkipSchedule skips_;
  std::vector<Character> characters_;
  std::uint64_t symbol_times_ = 0;
};

}  // namespace weft::phy
