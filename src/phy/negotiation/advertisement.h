// SPDX-License-Identifier: Apache-2.0
// What two ports tell each other while they negotiate DDR: a vendor-specific directed-route MAD of
// the DDR auto-negotiation specification (Mellanox document 2429), tables 1 and 2. Its fields are
// the first 16 of the 64 data bytes of an SMP (IBA 14.2.1.2); the rest is zero.
//
//   byte 0x0  A(1) SerDesConf(1) NoSweep(1) reserved(28) 5G(1)
//        0x4  sustained receive bandwidth of a lane at DDR, in 2^20 bit/s: 5000
//        0x8  iteration duration, in milliseconds
//        0xC  number of iterations, or the chosen iteration
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "wire/mad.h"

namespace weft::phy {

inline constexpr std::uint16_t kAdvertisementAttribute = 0x02C9;
inline constexpr std::uint32_t kAdvertisementModifier = 0x0000'02C9;
inline constexpr std::uint32_t kDdrBandwidth = 5000;
inline constexpr std::uint32_t kMaxIterations = 9;
inline constexpr std::uint32_t kLastIteration = kMaxIterations - 1;

struct Advertisement {
  bool acknowledge = false;        // A: answers a message of the same kind
  bool serdes_configured = false;  // SerDesConf: the sweep is over, this is its result
  bool no_sweep = false;
  bool ddr = false;  // 5G. In a result: a pair of settings was found
  std::uint32_t bandwidth = kDdrBandwidth;
  std::uint32_t iteration_ms = 0;
  std::uint32_t iterations = 0;  // NOI, or the chosen iteration: names_choice()
  bool reserved_set = false;     // bits that shall be zero were not; never written

  friend bool operator==(const Advertisement&, const Advertisement&) = default;

  // Whether `iterations` is the chosen iteration (table 2).
  [[nodiscard]] bool names_choice() const { return no_sweep || serdes_configured; }
  // Into the 64 data bytes of an SMP, all of them.
  void write(MutableBytes data) const;
};

// Why a MAD is no advertisement that can be used.
enum class AdvertisementFault : std::uint8_t {
  kSize,               // not 256 bytes
  kOtherAttribute,     // for somebody else: of another class or attribute
  kVersion,            // of the base or of the class
  kMethod,             // not Send
  kModifier,           // not 0x2C9
  kRoute,              // LIDs in it that are not permissive
  kBandwidth,          // not 5000
  kNoIterations,       // a sweep of none
  kTooManyIterations,  // a sweep of more than nine
  kChoice,             // a chosen iteration above eight
};

// An advertisement and whom it is from: TransactionID is the sender's, in an acknowledgement the
// one of what it answers.
struct AdvertisementMad {
  Advertisement advertisement;
  std::uint64_t transaction_id = 0;
};

[[nodiscard]] wire::MadBuffer make_advertisement_mad(const AdvertisementMad& mad);
[[nodiscard]] std::variant<AdvertisementMad, AdvertisementFault> parse_advertisement_mad(Bytes mad);

// "bandwidth is not 5000".
[[nodiscard]] std::string_view fault_text(AdvertisementFault fault);
// The words of the specification: "Capabilities Advertisement", "Result Advertisement + ACK".
[[nodiscard]] std::string_view advertisement_name(const Advertisement& advertisement);
// "5G, 3 iterations of 750 ms", "NoSweep, chosen iteration 2", "not 5G".
[[nodiscard]] std::string advertisement_text(const Advertisement& advertisement);

}  // namespace weft::phy
