// SPDX-License-Identifier: Apache-2.0
// The sending half of the PCS: words of lanes become octets of the line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wan/line/octet_stream.h"
#include "wan/line/pcs/block_stream.h"
#include "wan/line/pcs/coding_states.h"

namespace weft::wan {

// Words that are to go, which never end: as many as there is room for, in two spans of one size, as
// of XgmiiSink.
class XgmiiSource {
 public:
  virtual ~XgmiiSource() = default;
  virtual void fill(std::span<std::uint64_t> octets, std::span<std::uint8_t> control) = 0;
};

class PcsTransmitter final : public OctetSource {
 public:
  // `source` outlives this.
  PcsTransmitter(BitOrder order, XgmiiSource& source) : order_(order), source_(source) {}
  PcsTransmitter(const PcsTransmitter&) = delete;
  PcsTransmitter& operator=(const PcsTransmitter&) = delete;

  // Asks for words in fours; of the octets of the last four, those that were not asked for wait.
  void fill(MutableBytes octets) override;

 private:
  static constexpr std::size_t kBatch = 128;

  void make(MutableBytes octets);

  const BitOrder order_;
  XgmiiSource& source_;
  TransmitStates states_;
  BlockScrambler scrambler_;
  std::array<std::uint64_t, kBatch> words_{};
  std::array<std::uint8_t, kBatch> marks_{};  // control, then headers
  std::array<std::byte, kGroupOctets> rest_{};
  std::size_t taken_ = kGroupOctets;  // of those
};

}  // namespace weft::wan
