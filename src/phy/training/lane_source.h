// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "phy/code/code_8b10b.h"
#include "phy/code/idle_data.h"
#include "phy/code/packed_bits.h"
#include "phy/training/link_training.h"

namespace weft::phy {

// One lane's transmitter while a link trains: what LinkTraining::transmit() says, as bits. Once
// packets may pass, whoever has them takes over; until then it goes on with idle data.
class LaneSource {
 public:
  explicit LaneSource(std::uint16_t idle_seed) : idle_(idle_seed) {}

  // From the next ordered set on.
  void send(const LaneTransmit& what) { next_ = what; }
  // Whether there is a signal at all.
  [[nodiscard]] bool sounds() const { return now_.send != LaneSend::kSilence; }
  // Appends the next `sets` times 16 symbols; nothing when there is no signal.
  void produce(std::size_t sets, BitVector& out);

 private:
  LaneTransmit now_;
  LaneTransmit next_;
  Encoder encoder_;
  IdleData idle_;
};

}  // namespace weft::phy
