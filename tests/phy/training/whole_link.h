// SPDX-License-Identifier: Apache-2.0
// Two ports and all the bits between them: each trains its lanes by what it hears, and sends
// packets of InfiniBand over them when they are up. What is between them delays lanes, crosses
// wires, turns the order of lanes, and spoils bits; each port has a clock of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/random.h"
#include "phy/lanes/link_receiver.h"
#include "phy/lanes/link_transmitter.h"
#include "phy/training/link_training.h"

namespace weft::phy {

// One way between the ports.
struct Wiring {
  std::array<unsigned, kMaxLanes> late{};  // in bits
  std::uint32_t crossed = 0;               // lanes whose wires are
  bool reversed = false;
  double bit_errors = 0;  // as a probability
};

// A packet with its CRCs, and which bits of the sender's lanes it was.
struct SentPacket {
  PacketKind kind = PacketKind::kData;
  std::vector<std::byte> bytes;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

struct ArrivedPacket {
  PacketKind kind = PacketKind::kData;
  PacketFault fault = PacketFault::kNone;
  std::vector<std::byte> bytes;
};

// With an LRH, a BTH, `payload` bytes that are a multiple of 4, an ICRC and a VCRC.
SentPacket data_packet(Random& random, std::size_t payload);
// A flow-control packet with its LPCRC.
SentPacket flow_control_packet(Random& random);
// Whether its VCRC, or its LPCRC, says that it is whole.
bool is_whole(const ArrivedPacket& packet);

class WholePort final : public TrainingOwner, public PacketSink {
 public:
  WholePort(const TrainingOptions& options, LinkWidth width, double clock_ppm);

  void trained(const TrainingStep& step, Time now) override;
  void receive(const ReceivedPacket& packet) override;

  // In a symbol time of the test: the bits that its own clock sends, and the symbol times that have
  // passed by it.
  [[nodiscard]] std::size_t bits_to_send();
  [[nodiscard]] std::size_t symbol_times();
  // What is due at its transmitter, at least so many bits of each lane from `sent_bits` on; none
  // where it is silent.
  [[nodiscard]] bool sends(std::size_t bits);
  void tell_training(Time now);

  LinkTraining training;
  LinkTransmitter transmitter;
  LinkReceiver receiver;
  std::deque<SentPacket> to_send;
  std::vector<SentPacket> sent;
  std::vector<ArrivedPacket> arrived;
  std::uint64_t sent_bits = 0;  // of each lane, that have gone onto the wires

 private:
  void produce();

  const std::size_t lanes_;
  const double clock_;
  double bit_share_ = 0;
  double tick_share_ = 0;
  std::vector<LaneInput> told_;
  std::uint64_t cleared_bits_ = 0;  // of the transmitter, that are no longer kept

  friend class WholeLink;
};

class WholeLink {
 public:
  // Lanes of both ports, and their clocks in parts of a million from nominal.
  WholeLink(LinkWidth width, const std::array<TrainingOptions, 2>& options,
            const std::array<Wiring, 2>& wirings, const std::array<double, 2>& clocks_ppm,
            std::uint64_t seed);

  // Both poll.
  void poll();
  // True as soon as both are up.
  bool run_until_up(Duration most);
  void run(Duration time);
  [[nodiscard]] bool up() const;

  [[nodiscard]] WholePort& port(std::size_t side) { return *ports_[side]; }
  [[nodiscard]] Wiring& wiring(std::size_t from) { return wirings_[from]; }
  // The sender's bits that were spoilt on their way from a port, in order; one for each lane that
  // was hit.
  [[nodiscard]] const std::vector<std::uint64_t>& spoilt(std::size_t from) const {
    return spoilt_[from];
  }

 private:
  void step();
  void carry(std::size_t from);
  [[nodiscard]] bool spoils(const Wiring& wiring);

  const std::size_t lanes_;
  Random random_;
  Time now_{1s};
  std::uint64_t steps_ = 0;
  std::array<std::unique_ptr<WholePort>, 2> ports_;
  std::array<Wiring, 2> wirings_;
  std::array<std::vector<std::deque<bool>>, 2> on_wire_;  // by the sender's place
  std::array<std::vector<std::uint64_t>, 2> spoilt_;
};

}  // namespace weft::phy
