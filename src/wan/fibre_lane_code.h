// SPDX-License-Identifier: Apache-2.0
// A fibre that is a lane of an InfiniBand link, bit by bit: symbols of fibre_framing.h in the
// 8b/10b code, four of them in five octets, the bit that goes first in the lowest one; idle data
// where a step of four is not full, and SKIP sets when they are due (phy/lanes).
#pragma once

#include <array>
#include <optional>

#include "phy/lanes/lane_receiver.h"
#include "phy/lanes/link_transmitter.h"
#include "phy/lanes/packet_reader.h"
#include "wan/fibre_code.h"

namespace weft::wan {

class FibreLaneCode final : public FibreCode, private phy::PacketSink {
 public:
  FibreLaneCode() = default;

  void restart() override;
  [[nodiscard]] bool put_packet(std::vector<std::byte>& out, const link::Packet& packet) override;
  void put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet) override;
  void put_training(std::vector<std::byte>& out, const TrainingSet& set) override;
  void put_skip(std::vector<std::byte>& out) override;
  [[nodiscard]] tl::expected<std::size_t, FibreError> read(Bytes bytes, FibreSink& sink) override;
  [[nodiscard]] std::vector<CounterValue> counters() const override { return counters_.snapshot(); }

 private:
  // What there is of one stream.
  struct Lane {
    explicit Lane(phy::LaneCounters& counters)
        : receiver(counters, false), packets(phy::LinkWidth::k1x, counters, link::kLongestPacket) {}
    phy::LinkTransmitter transmitter{phy::LinkWidth::k1x};
    phy::LaneReceiver receiver;
    phy::PacketReader packets;
    std::array<std::byte, TrainingSet::kSize> training{};
    std::size_t trained = 0;  // symbols of a training set that have come; 0: none is under way
    bool was_aligned = false;
  };

  // phy::PacketSink
  void receive(const phy::ReceivedPacket& packet) override;

  void tell(const FibreRecord& record);
  void take(const phy::LaneSymbol& symbol);
  void watch_for_training(const phy::LaneSymbol& symbol);
  void flush(std::vector<std::byte>& out);

  phy::LaneCounters counters_;
  std::optional<Lane> lane_{std::in_place, counters_};
  FibreSink* sink_ = nullptr;  // during read(), and until it wants no more
  std::vector<phy::LaneSymbol> symbols_;
  std::vector<std::byte> scratch_;
};

}  // namespace weft::wan
