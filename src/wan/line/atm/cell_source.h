// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "wan/line/atm/aal5_segmenter.h"
#include "wan/line/atm/cell.h"
#include "wan/line/atm/llc_snap.h"
#include "wan/line/octet_stream.h"
#include "wan/line/payload_scrambler.h"

namespace weft::wan::atm {

// The octets of a line: cells of whoever has some, the first of the feeds first, and idle ones.
class CellSource final : public OctetSource {
 public:
  // `feeds` outlive this. `scrambled` as CellDelineation has it.
  CellSource(std::vector<CellFeed*> feeds, bool scrambled)
      : feeds_(std::move(feeds)), scrambled_(scrambled) {}

  void fill(MutableBytes octets) override;

 private:
  void put_cells(MutableBytes cells);

  const std::vector<CellFeed*> feeds_;
  const bool scrambled_;
  PayloadScrambler scrambler_;
  std::array<std::byte, kCellSize> cell_{};
  std::size_t sent_ = kCellSize;  // of cell_
};

// Packets as cells of one connection, each as a PDU of AAL type 5.
class PacketCells final : public CellFeed {
 public:
  static constexpr std::size_t kLongestPacket = kLongestPayload - kLlcSnapSize;

  // `packets` outlives this and has none of more than kLongestPacket bytes. With an EtherType, they
  // are behind an LLC/SNAP header.
  PacketCells(PacketSource& packets, const CellHeader& header,
              std::optional<std::uint16_t> ether_type)
      : packets_(packets), segmenter_(header) {
    if (!ether_type) return;
    head_ = llc_snap(*ether_type);
    head_size_ = kLlcSnapSize;
  }

  std::size_t put_cells(MutableBytes cells) override;

 private:
  PacketSource& packets_;
  Aal5Segmenter segmenter_;
  std::array<std::byte, kLlcSnapSize> head_{};
  std::size_t head_size_ = 0;
};

}  // namespace weft::wan::atm
