// SPDX-License-Identifier: Apache-2.0
// Subnet management packets, IBA 14.2.1: the MAD header, M_Key and 64 bytes of attribute; those
// with a directed route name the ports of the way themselves.
//
//             LID routed (class 0x01)        directed route (class 0x81)
//   byte 4-5  Status                         D(1) Status(15)
//        6-7  -                              6 HopPointer  7 HopCount
//      24-31  M_Key                          the same
//      32-35  -                              32 DrSLID  34 DrDLID
//     64-127  attribute                      the same
//    128-255  -                              128 InitialPath[64]  192 ReturnPath[64]
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"
#include "wire/mad.h"

namespace weft::wire {

inline constexpr std::uint8_t kSmClassVersion = 1;
inline constexpr Lid kPermissiveLid{0xFFFF};  // IBA 4.1.3: whoever it reaches
inline constexpr std::size_t kMaxHops = 63;   // entry 0 of a path is not used

// IBA 14.2.5, table 125.
enum class SmAttribute : std::uint16_t {
  kClassPortInfo = 0x0001,
  kNotice = 0x0002,
  kNodeDescription = 0x0010,
  kNodeInfo = 0x0011,
  kSwitchInfo = 0x0012,
  kGuidInfo = 0x0014,
  kPortInfo = 0x0015,
  kPKeyTable = 0x0016,
  kSlToVl = 0x0017,
  kVlArbitration = 0x0018,
  kLinearForwarding = 0x0019,
  kRandomForwarding = 0x001A,
  kMulticastForwarding = 0x001B,
  kSmInfo = 0x0020,
  kVendorDiag = 0x0030,
  kLedInfo = 0x0031,
};

namespace smp {

inline constexpr std::size_t kMKeyOffset = 24;
inline constexpr std::size_t kDrSlidOffset = 32;
inline constexpr std::size_t kDrDlidOffset = 34;
inline constexpr std::size_t kDataOffset = 64;
inline constexpr std::size_t kDataSize = 64;
inline constexpr std::size_t kInitialPathOffset = 128;
inline constexpr std::size_t kReturnPathOffset = 192;
inline constexpr std::size_t kPathEntries = 64;
inline constexpr std::uint16_t kDirectionBit = 0x8000;  // D, in the status: on the way back

[[nodiscard]] inline std::uint64_t mkey(MadBytes mad) {
  return load_be64(mad.data() + kMKeyOffset);
}
inline void set_mkey(MutableMadBytes mad, std::uint64_t key) {
  store_be64(mad.data() + kMKeyOffset, key);
}
[[nodiscard]] inline Bytes data(MadBytes mad) {
  return mad.subspan(kDataOffset, kDataSize);
}
[[nodiscard]] inline MutableBytes data(MutableMadBytes mad) {
  return mad.subspan(kDataOffset, kDataSize);
}

// What follows is of directed routes only.
[[nodiscard]] inline bool returning(MadBytes mad) {
  return (load_be16(mad.data() + 4) & kDirectionBit) != 0;
}
[[nodiscard]] inline std::uint8_t hop_pointer(MadBytes mad) {
  return load_u8(mad.data() + 6);
}
[[nodiscard]] inline std::uint8_t hop_count(MadBytes mad) {
  return load_u8(mad.data() + 7);
}
[[nodiscard]] inline Lid dr_slid(MadBytes mad) {
  return Lid{load_be16(mad.data() + kDrSlidOffset)};
}
[[nodiscard]] inline Lid dr_dlid(MadBytes mad) {
  return Lid{load_be16(mad.data() + kDrDlidOffset)};
}
// `hop` from 0 to kMaxHops.
[[nodiscard]] inline std::uint8_t initial_path(MadBytes mad, std::size_t hop) {
  assert(hop < kPathEntries);
  return load_u8(mad.data() + kInitialPathOffset + hop);
}
[[nodiscard]] inline std::uint8_t return_path(MadBytes mad, std::size_t hop) {
  assert(hop < kPathEntries);
  return load_u8(mad.data() + kReturnPathOffset + hop);
}
inline void set_hop_pointer(MutableMadBytes mad, std::uint8_t hop) {
  store_u8(mad.data() + 6, hop);
}
inline void set_hop_count(MutableMadBytes mad, std::uint8_t hops) {
  store_u8(mad.data() + 7, hops);
}
inline void set_dr_lids(MutableMadBytes mad, Lid source, Lid destination) {
  store_be16(mad.data() + kDrSlidOffset, source.value());
  store_be16(mad.data() + kDrDlidOffset, destination.value());
}
inline void set_initial_path(MutableMadBytes mad, std::size_t hop, std::uint8_t port) {
  assert(hop < kPathEntries);
  store_u8(mad.data() + kInitialPathOffset + hop, port);
}
inline void set_return_path(MutableMadBytes mad, std::size_t hop, std::uint8_t port) {
  assert(hop < kPathEntries);
  store_u8(mad.data() + kReturnPathOffset + hop, port);
}

}  // namespace smp
}  // namespace weft::wire
