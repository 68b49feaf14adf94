// SPDX-License-Identifier: Apache-2.0
// The headers of GFP frames (ITU-T G.7041): each is two octets and a CRC-16 over them, by which
// one wrong bit of the four octets can be put right. Most significant bit first.
//
//   core header     PLI 16, cHEC 16; all four octets are added to kGfpCoreScramble (6.1.1)
//   type header     PTI 3, PFI 1, EXI 4, UPI 8; tHEC 16 (6.1.2.1.1)
//   linear header   CID 8, spare 8; eHEC 16 (6.1.2.1.3.2)
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::wan {

inline constexpr std::size_t kGfpHeader = 4;  // octets of each of them
inline constexpr std::size_t kGfpFcs = 4;
inline constexpr std::uint32_t kGfpCoreScramble = 0xB6AB'31E0;
inline constexpr std::uint32_t kGfpIdleFrame = kGfpCoreScramble;  // PLI and cHEC are zero (6.2.1)
// PLI: below this, a control frame, which is a core header and nothing else; 0 is the idle frame.
inline constexpr std::uint16_t kGfpLeastPayloadArea = 4;
inline constexpr std::size_t kGfpLongestPayloadArea = 0xFFFF;

// PTI (6.1.2.1.1.1).
enum class GfpPayload : std::uint8_t {
  kClientData = 0,
  kClientManagement = 4,
  kManagementCommunications = 5,
};

// EXI (6.1.2.1.1.3).
enum class GfpExtension : std::uint8_t { kNull = 0, kLinear = 1, kRing = 2 };

// UPI of client data (table 6-3). 0xF0 to 0xFC are for whatever two ends agree on: here, link
// packets of InfiniBand from their LRH to their VCRC.
enum class GfpUser : std::uint8_t {
  kEthernet = 0x01,
  kPpp = 0x02,
  kMpls = 0x0D,
  kIpv4 = 0x10,
  kIpv6 = 0x11,
  kInfiniBand = 0xF0,
};

// UPI of client management (table 6-4).
enum class GfpManagement : std::uint8_t {
  kLossOfSignal = 1,      // client signal fail: the client's signal is not there
  kLossOfCharacters = 2,  // client signal fail: it is, and cannot be understood
  kDefectClear = 3,
  kForwardDefect = 4,
  kReverseDefect = 5,
};

struct GfpType {
  GfpPayload payload = GfpPayload::kClientData;
  bool fcs = false;  // PFI: the payload area ends with a CRC-32
  GfpExtension extension = GfpExtension::kNull;
  std::uint8_t upi = 0;
  friend bool operator==(const GfpType&, const GfpType&) = default;

  [[nodiscard]] constexpr std::uint16_t value() const {
    return static_cast<std::uint16_t>(static_cast<unsigned>(payload) << 13 | unsigned{fcs} << 12 |
                                      static_cast<unsigned>(extension) << 8 | upi);
  }
  [[nodiscard]] static constexpr GfpType parse(std::uint16_t value) {
    return {.payload = GfpPayload(value >> 13),
            .fcs = (value >> 12 & 1) != 0,
            .extension = GfpExtension(value >> 8 & 0xF),
            .upi = static_cast<std::uint8_t>(value)};
  }
  // Octets of a payload area besides what it carries.
  [[nodiscard]] constexpr std::size_t overhead() const {
    return kGfpHeader + (extension == GfpExtension::kLinear ? kGfpHeader : 0) + (fcs ? kGfpFcs : 0);
  }
};

// `value` with its HEC below it.
[[nodiscard]] std::uint32_t gfp_with_hec(std::uint16_t value);

struct GfpChecked {
  enum class Outcome : std::uint8_t { kRight, kCorrected, kWrong };
  Outcome outcome = Outcome::kWrong;
  std::uint16_t value = 0;  // unless it is wrong
};
// What `word`, a value with its HEC, says; with one bit put right where need be (6.1.1.2.1).
[[nodiscard]] GfpChecked gfp_check(std::uint32_t word);
// Whether it is right as it is: for who may not correct, being out of step perhaps.
[[nodiscard]] bool gfp_is_right(std::uint32_t word);

}  // namespace weft::wan
