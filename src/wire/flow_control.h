// SPDX-License-Identifier: Apache-2.0
// The flow-control packet, IBA 7.9.4: the one kind of link packet, 6 bytes between its delimiters.
//
//   bytes 0-1  Op(4) FCTBS(12)      2-3  VL(4) FCCL(12)      4-5  LPCRC
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::wire {

enum class FlowControlError : std::uint8_t {
  kBadLength,  // not 6 bytes
  kBadLpcrc,   // damaged on the way
  kBadOp,      // Op is none of these
};

struct FlowControl {
  static constexpr std::size_t kSize = 6;
  static constexpr std::uint16_t kCountMask = 0xFFF;  // FCTBS and FCCL count modulo 4096

  enum class Op : std::uint8_t {
    kNormal = 0,      // the sender's link state is Armed or Active
    kInitialize = 1,  // it is Initialize
    // Reserved in the standard. Of links whose ends have agreed on counts of 24 bits: the upper
    // halves of both counts of the packet that follows it.
    kUpper = 2,
  };

  Op op = Op::kNormal;
  Vl vl{};
  std::uint16_t fctbs = 0;  // blocks sent on this VL since the link was initialized, modulo 4096
  std::uint16_t fccl = 0;   // up to which count of blocks the receiver of this may send

  friend bool operator==(const FlowControl&, const FlowControl&) = default;

  [[nodiscard]] static tl::expected<FlowControl, FlowControlError> parse(Bytes bytes) {
    if (bytes.size() != kSize) return tl::unexpected(FlowControlError::kBadLength);
    if (load_le16(bytes.data() + 4) != lpcrc(bytes)) {
      return tl::unexpected(FlowControlError::kBadLpcrc);
    }
    const std::uint16_t first = load_be16(bytes.data());
    const std::uint16_t second = load_be16(bytes.data() + 2);
    if (first >> 12 > static_cast<int>(Op::kUpper)) {
      return tl::unexpected(FlowControlError::kBadOp);
    }
    return FlowControl{.op = static_cast<Op>(first >> 12),
                       .vl = Vl{static_cast<std::uint8_t>(second >> 12)},
                       .fctbs = static_cast<std::uint16_t>(first & kCountMask),
                       .fccl = static_cast<std::uint16_t>(second & kCountMask)};
  }

  // With its LPCRC.
  [[nodiscard]] std::array<std::byte, kSize> bytes() const {
    std::array<std::byte, kSize> out{};
    const auto word = [](unsigned high, unsigned count) {
      return static_cast<std::uint16_t>(high << 12 | (count & kCountMask));
    };
    store_be16(out.data(), word(static_cast<unsigned>(op), fctbs));
    store_be16(out.data() + 2, word(vl.value(), fccl));
    store_le16(out.data() + 4, lpcrc(out));
    return out;
  }

 private:
  // IBA 7.8.3: the VCRC's arithmetic over the first four bytes.
  static std::uint16_t lpcrc(Bytes bytes) {
    return crc16_finish(crc16_update(kVcrcPreset, bytes.first(4)));
  }
};

}  // namespace weft::wire
