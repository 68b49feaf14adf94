// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace weft::wan {

// Of a sender that keeps to a rate of its user's: what it goes on at where that is more than gets
// through, as over machines that are slower than their WAN. What is sent again at such a rate is
// lost as often as what was sent first, so that of a long way's many frames there are always some
// that have not come, and all that must be delivered behind them waits: then the buffer at the far
// end is full, and next to nothing arrives. So once more than one byte in fifty is lost in a round
// trip, no more is sent than what has arrived, and a little less; from then on a little more with
// each round trip, and more and more for as long as all of it arrives. What a network loses by
// itself, however little is sent, is not heeded. Until then, and once it is not in the way any
// more, anything may go.
class Restraint {
 public:
  // Bytes of packets in frames that leave, that have come, that were given up, and that come though
  // they were.
  void sent(std::uint64_t bytes, Time now);
  void came(std::uint64_t bytes) { came_ += bytes; }
  void lost(std::uint64_t bytes) { lost_ += bytes; }
  void came_after_all(std::uint64_t bytes);

  // There is news of what was sent that round trip ago.
  void look(Duration round_trip, Time now);

  [[nodiscard]] bool admits() const { return !pause_; }
  // When it does again: go_on() then.
  [[nodiscard]] std::optional<Time> pause() const { return pause_; }
  void go_on(Time now);

  // Bytes per second; 0: any number.
  [[nodiscard]] double rate() const { return rate_; }
  // How often it was lowered.
  [[nodiscard]] std::uint64_t lowered() const { return lowered_; }

 private:
  void end_round(double came, double lost, double lasted);
  void lower(double share);
  void raise(double before);
  [[nodiscard]] double arrived() const;

  std::uint64_t came_ = 0;  // in this round
  std::uint64_t lost_ = 0;
  std::optional<Time> round_begin_;
  bool in_the_way_ = false;         // in this round
  std::array<double, 8> rounds_{};  // bytes per second that arrived in the last ones
  std::size_t last_round_ = 0;
  double rate_ = 0;
  double rate_before_ = 0;  // of what arrives now: it left a round ago
  double gain_ = 0;         // of the last round
  Time free_{};
  std::optional<Time> pause_;
  int unseen_ = 0;          // rounds until it shows that the rate was lowered
  int in_a_row_ = 0;        // times that it was, without a round in which little was lost
  double first_share_ = 0;  // that was lost before the first of them
  double own_share_ = 0;    // that the network loses by itself
  std::uint64_t lowered_ = 0;
};

}  // namespace weft::wan
