// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "phy/lanes/framing.h"
#include "phy/lanes/lane_counters.h"
#include "phy/lanes/lane_symbol.h"

namespace weft::phy {

// Why a packet is not to be trusted.
enum class PacketFault : std::uint8_t {
  kNone,
  kMarkedBad,    // it ends with EBP
  kSymbolError,  // a symbol of it was wrong, or some of it was lost
  kMalformed,    // its length, or a control symbol in it, is none of a packet
  kOverlong,     // it did not end in time
};

// What lies between two delimiters. The CRCs are for the link layer to check.
struct ReceivedPacket {
  PacketKind kind = PacketKind::kData;
  PacketFault fault = PacketFault::kNone;
  Bytes bytes;  // valid during the call
};

class PacketSink {
 public:
  virtual ~PacketSink() = default;
  virtual void receive(const ReceivedPacket& packet) = 0;
};

// Finds packets in the columns of a link whose lanes are in step. Everything that begins as a
// packet is handed out once, with its fault.
class PacketReader {
 public:
  // The longest packet of a link: 4096 bytes, and all headers and CRCs that a packet can have.
  static constexpr std::size_t kUsualLongest = 4096 + 128;

  // `longest` in bytes, CRCs included; `counters` outlives this.
  PacketReader(LinkWidth width, LaneCounters& counters, std::size_t longest = kUsualLongest)
      : lanes_(lanes_of(width)), longest_(longest), counters_(counters) {}

  void read(const Column& column, PacketSink& sink);
  // Columns are missing here.
  void read_gap();
  // The link is down: a packet that is under way has ended, with a fault.
  void end(PacketSink& sink);

 private:
  void outside(std::size_t lane, const LaneSymbol& symbol);
  void inside(std::size_t lane, const LaneSymbol& symbol, PacketSink& sink);
  void start(std::size_t lane, const LaneSymbol& symbol);
  void finish(PacketSink& sink);
  void blame(PacketFault fault);
  [[nodiscard]] bool may_end_on(std::size_t lane) const { return lanes_ == 1 || lane % 4 == 3; }

  const std::size_t lanes_;
  const std::size_t longest_;
  LaneCounters& counters_;
  std::vector<std::byte> bytes_;
  PacketKind kind_ = PacketKind::kData;
  PacketFault fault_ = PacketFault::kNone;
  bool in_packet_ = false;
  bool padding_ = false;  // a packet has ended in this column
};

}  // namespace weft::phy
