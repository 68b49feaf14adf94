// SPDX-License-Identifier: Apache-2.0
// A lane bit by bit: what is sent becomes a waveform, noise and jitter are drawn for each bit, a
// slicer decides, and a decoder looks for errors. It is what the analysis is held against.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "phy/channel/code_statistics.h"
#include "phy/channel/equalised_lane.h"
#include "phy/channel/normal.h"
#include "phy/code/code_8b10b.h"

namespace weft::phy {

struct SampledCounts {
  std::uint64_t symbols = 0;
  std::uint64_t wrong_bits = 0;
  std::uint64_t wrong_symbols = 0;     // with one wrong bit or more
  std::uint64_t reported_symbols = 0;  // in which the decoder saw a code or a disparity error

  friend bool operator==(const SampledCounts&, const SampledCounts&) = default;
};

class SampledLane {
 public:
  SampledLane(const EqualisedLane& lane, Random random);

  // Sends these characters, and receives what has come: the last bits of a call come in the next.
  void send(std::span<const Character> characters);

  [[nodiscard]] const SampledCounts& counts() const { return counts_; }

 private:
  // Bits that are sent before one that meets its pulse can be decided.
  static constexpr int kAhead = kNearBefore;
  static constexpr std::size_t kBytes = kPulseBits / 8;
  // Places in a bit at which the pulse is known, and how far from the middle jitter may go.
  static constexpr int kPlaces = 128;
  static constexpr int kFarthest = kPlaces / 2 - 1;

  // The pulse is level enough behind these bytes for jitter to make no difference.
  static constexpr std::size_t kNearBytes = 3;

  // What each byte of a lane's last bits adds, sampled at one place.
  using Row = std::array<std::array<float, 256>, kNearBytes>;

  void push(unsigned bit);
  void decide();
  void finish_symbol();
  const Row& row(int place);
  [[nodiscard]] std::unique_ptr<Row> make_row(int place) const;

  EqualisedLane lane_;
  NormalDraws draws_;
  std::array<std::unique_ptr<Row>, 2 * kFarthest + 1> rows_;  // as they are needed
  std::array<std::array<float, 256>, kBytes - kNearBytes> tail_{};
  double sine_ = 0, cosine_ = 1;  // of the sinusoidal jitter
  double sine_step_, cosine_step_;
  Encoder encoder_;
  Decoder decoder_;
  std::uint64_t sent_ = 0x5555'5555'5555'5555;  // the newest in bit 0
  int bits_ahead_ = 0;
  double last_ = 1, before_last_ = -1;    // decisions, as 1 and -1
  unsigned received_ = 0, expected_ = 0;  // of the symbol that is arriving
  int received_bits_ = 0;
  SampledCounts counts_;
};

}  // namespace weft::phy
