// SPDX-License-Identifier: Apache-2.0
// What is between the MAC and the 64b/66b code (IEEE 802.3, clause 46): eight lanes, each with an
// octet of data or a control character; two columns of four lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::wan {

// Control characters (Table 46-3). Start and those of ordered sets are in lane 0 or 4 only.
struct Xgmii {
  static constexpr std::uint8_t kLowPowerIdle = 0x06;
  static constexpr std::uint8_t kIdle = 0x07;
  static constexpr std::uint8_t kSignal = 0x5C;    // begins a signal ordered set
  static constexpr std::uint8_t kSequence = 0x9C;  // begins a sequence ordered set
  static constexpr std::uint8_t kStart = 0xFB;
  static constexpr std::uint8_t kTerminate = 0xFD;
  static constexpr std::uint8_t kError = 0xFE;
};

struct XgmiiWord {
  std::uint64_t octets = 0;  // that of lane 0, which goes first, in bits 0 to 7
  std::uint8_t control = 0;  // bit n: lane n has a control character

  [[nodiscard]] constexpr std::uint8_t octet(unsigned lane) const {
    return static_cast<std::uint8_t>(octets >> (8 * lane));
  }
  [[nodiscard]] constexpr bool is_control(unsigned lane) const {
    return (control >> lane & 1U) != 0;
  }
  [[nodiscard]] constexpr bool has(unsigned lane, std::uint8_t character) const {
    return is_control(lane) && octet(lane) == character;
  }
  friend constexpr bool operator==(const XgmiiWord&, const XgmiiWord&) = default;
};

inline constexpr XgmiiWord kIdleWord{0x0707'0707'0707'0707, 0xFF};
inline constexpr XgmiiWord kErrorWord{0xFEFE'FEFE'FEFE'FEFE, 0xFF};
// Local fault in both columns (LBLOCK_R and LBLOCK_T of 49.2.13.2.1).
inline constexpr XgmiiWord kLocalFaultWord{0x0100'009C'0100'009C, 0x11};

// A column that says something of its own: a control character and three octets of data.
struct OrderedSet {
  enum class Code : std::uint8_t { kSequence = Xgmii::kSequence, kSignal = Xgmii::kSignal };

  Code code = Code::kSequence;
  std::uint32_t value = 0;  // 24 bits, that of the first lane in the uppermost octet

  friend constexpr bool operator==(const OrderedSet&, const OrderedSet&) = default;
};

// Of sequence ordered sets (46.3.4); all other values are reserved.
inline constexpr std::uint32_t kLocalFaultValue = 1;
inline constexpr std::uint32_t kRemoteFaultValue = 2;

// The column as the lower or, shifted by 32, the upper half of a word, and back.
[[nodiscard]] constexpr std::uint32_t to_column(const OrderedSet& set) {
  return static_cast<std::uint32_t>(set.code) | (set.value >> 16 & 0xFF) << 8 |
         (set.value >> 8 & 0xFF) << 16 | (set.value & 0xFF) << 24;
}
[[nodiscard]] constexpr OrderedSet to_ordered_set(std::uint32_t column) {
  return {static_cast<OrderedSet::Code>(column & 0xFF),
          (column >> 8 & 0xFF) << 16 | (column >> 16 & 0xFF) << 8 | column >> 24};
}

// Where words go that came, in order.
class XgmiiSink {
 public:
  virtual ~XgmiiSink() = default;
  // Those that come next without a control character in them, one at least.
  virtual void data(std::span<const std::uint64_t> words) = 0;
  // The next one, which has some.
  virtual void control(const XgmiiWord& word) = 0;
};

}  // namespace weft::wan
