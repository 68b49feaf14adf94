// SPDX-License-Identifier: Apache-2.0
// Packets as frames on lanes, with gaps between them, on a line that is never idle: the sending
// half of MAC and reconciliation sublayer (IEEE 802.3, clauses 4 and 46).
//
//   Ethernet     /S/ 55 x 6, D5, frame (padded to 60 octets), FCS /T/
//   InfiniBand   /S/ LRH ... VCRC /T/
//
// /S/ is in lane 0 or 4. So that this costs nothing, a gap may be up to three octets short, as long
// as the deficit of all of them together is not more than three (46.3.1.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "wan/line/octet_stream.h"
#include "wan/line/pcs/link_fault.h"
#include "wan/line/pcs/pcs_transmitter.h"

namespace weft::wan {

enum class LineFrames : std::uint8_t { kEthernet, kInfiniband };

class FrameTransmitter final : public XgmiiSource {
 public:
  static constexpr std::size_t kGap = 12;         // octets, /T/ among them (interFrameSpacing)
  static constexpr std::size_t kMostDeficit = 3;  // octets (46.3.1.4)
  static constexpr std::size_t kShortest = 60;    // an Ethernet frame without its FCS

  // `source` outlives this. A packet of it is at least an octet.
  FrameTransmitter(LineFrames kind, PacketSource& source) : kind_(kind), source_(source) {}
  FrameTransmitter(const FrameTransmitter&) = delete;
  FrameTransmitter& operator=(const FrameTransmitter&) = delete;

  void fill(std::span<std::uint64_t> octets, std::span<std::uint8_t> control) override;

  // What the receiver of this end says of the line (46.3.4): with a local fault nothing is sent but
  // remote fault, with a remote one nothing but idle. A frame that is under way ends first.
  void follow(LinkFault fault) { fault_ = fault; }
  // Goes out before the next frame.
  void put(const OrderedSet& set) { sets_.push_back(set); }

 private:
  [[nodiscard]] XgmiiWord next();
  [[nodiscard]] std::uint32_t column(std::uint8_t& control);
  [[nodiscard]] std::uint32_t frame_column(std::uint8_t& control);
  [[nodiscard]] std::uint32_t idle_column(std::uint8_t& control);
  [[nodiscard]] bool may_start() const { return since_ + (kMostDeficit - deficit_) >= kGap; }
  void load(Bytes packet);

  const LineFrames kind_;
  PacketSource& source_;
  LinkFault fault_ = LinkFault::kNone;
  std::deque<OrderedSet> sets_;
  std::vector<std::byte> frame_;  // /S/, and all up to the FCS; empty: none is under way
  std::size_t gone_ = 0;          // of those
  std::size_t since_ = kGap;      // octets of this gap that have gone
  std::size_t deficit_ = 0;
};

}  // namespace weft::wan
