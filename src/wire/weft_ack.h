// SPDX-License-Identifier: Apache-2.0
// Weft's own acknowledgement (opcode weft_rc_acknowledge), between Weft peers only: what an AETH
// says, the window that the receiver grants, and which packets after a gap have arrived.
// AETH(32) Window(32) Bitmap(32 × n), n from 0 to kMaxWords.
//
// BTH.PSN and the AETH mean what they mean in an ACK (IBA 9.7.5.1.2): every packet up to BTH.PSN
// has arrived. Bit i of the bitmap, counted from the most significant bit of its first word, stands
// for packet BTH.PSN + 2 + i: the packet BTH.PSN + 1 is missing, or the bitmap is empty.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/aeth.h"
#include "wire/endian.h"

namespace weft::wire {

struct WeftAck {
  static constexpr std::size_t kMaxWords = 64;  // 2,048 packets
  static constexpr std::size_t kFixedSize = Aeth::kSize + 4;
  static constexpr std::size_t kMaxSize = kFixedSize + kMaxWords * 4;

  Aeth aeth{};
  std::uint32_t window = 0;  // bytes that may be in flight to the sender of this; 0: no news
  std::uint32_t words = 0;
  std::array<std::uint32_t, kMaxWords> bitmap{};

  [[nodiscard]] std::size_t size() const { return kFixedSize + std::size_t{words} * 4; }
  [[nodiscard]] bool has(std::uint32_t bit) const {
    return bit / 32 < words && (bitmap[bit / 32] >> (31 - bit % 32) & 1) != 0;
  }
  void set(std::uint32_t bit) {
    assert(bit / 32 < kMaxWords);
    while (words <= bit / 32)
      bitmap[words++] = 0;
    bitmap[bit / 32] |= std::uint32_t{1} << (31 - bit % 32);
  }

  // Nothing for a length that is none of its own.
  [[nodiscard]] static std::optional<WeftAck> parse(Bytes bytes) {
    if (bytes.size() < kFixedSize || bytes.size() > kMaxSize || bytes.size() % 4 != 0) {
      return std::nullopt;
    }
    WeftAck ack;
    ack.aeth = *Aeth::parse(bytes);
    ack.window = load_be32(bytes.data() + Aeth::kSize);
    ack.words = static_cast<std::uint32_t>((bytes.size() - kFixedSize) / 4);
    for (std::uint32_t i = 0; i < ack.words; ++i)
      ack.bitmap[i] = load_be32(bytes.data() + kFixedSize + std::size_t{i} * 4);
    return ack;
  }
  void write(MutableBytes out) const {
    assert(out.size() >= size());
    aeth.write(out);
    store_be32(out.data() + Aeth::kSize, window);
    for (std::uint32_t i = 0; i < words; ++i)
      store_be32(out.data() + kFixedSize + std::size_t{i} * 4, bitmap[i]);
  }
};

}  // namespace weft::wire
