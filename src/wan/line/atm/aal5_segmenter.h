// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wan/line/atm/aal5.h"

namespace weft::wan::atm {

// Makes the cells of one PDU after the other, in one connection.
class Aal5Segmenter {
 public:
  static constexpr std::size_t kMostHead = 40;

  // Of `header`, kLastOfPdu is set and cleared as needed.
  explicit Aal5Segmenter(CellHeader header);

  // The next PDU, whose payload is `head`, at most kMostHead octets, and then `body`, together at
  // least one and at most kLongestPayload. `body` stays where it is until all cells are made.
  // `user_to_user` goes along for whoever uses this.
  void begin(Bytes head, Bytes body, std::uint8_t user_to_user = 0);
  // Cells of it that have not been made.
  [[nodiscard]] std::size_t left() const { return (size_ - made_) / kPayloadSize; }
  // As many of them as there is room for. How many.
  std::size_t put(MutableBytes cells);

 private:
  // Of cells that are not the last, and of the last; eight bytes are written faster than five.
  using Template = std::array<std::byte, 8>;
  std::array<Template, 2> headers_{};

  static std::byte* put_cells(const std::byte* payload, std::size_t count, Template header,
                              std::byte* to);

  Bytes body_;
  std::size_t head_size_ = 0;
  std::size_t size_ = 0;  // of the PDU
  std::size_t made_ = 0;
  std::size_t plain_end_ = 0;  // up to here cells are of the body alone, after this one:
  std::array<std::byte, kPayloadSize> first_{};
  std::array<std::byte, 2 * kPayloadSize> tail_{};
};

}  // namespace weft::wan::atm
