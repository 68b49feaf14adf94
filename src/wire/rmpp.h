// SPDX-License-Identifier: Apache-2.0
// The header of the Reliable Multi-Packet transaction Protocol, IBA 13.6.2: bytes 24 to 35 of
// datagrams of the classes that have it.
//
//   byte 24 RMPPVersion  25 RMPPType  26 RRespTime(5) RMPPFlags(3)  27 RMPPStatus
//   28-31 SegmentNumber  32-35 PayloadLength (DATA) or NewWindowLast (ACK)
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"
#include "wire/mad.h"

namespace weft::wire {

enum class RmppType : std::uint8_t { kNone = 0, kData = 1, kAck = 2, kStop = 3, kAbort = 4 };

enum RmppFlag : std::uint8_t { kRmppActive = 1, kRmppFirst = 2, kRmppLast = 4 };

// IBA 13.6.2.1, table 165.
enum class RmppStatus : std::uint8_t {
  kNormal = 0,
  kResourcesExhausted = 1,
  kTotalTimeTooLong = 118,
  kInconsistentLength = 119,  // Last, and PayloadLength
  kInconsistentFirst = 120,   // First, and SegmentNumber
  kBadType = 121,
  kWindowTooSmall = 122,  // NewWindowLast below SegmentNumber
  kSegmentTooBig = 123,   // acknowledged what was not sent
  kIllegalStatus = 124,
  kUnsupportedVersion = 125,
  kTooManyRetries = 126,
  kUnspecified = 127,
};

struct RmppHeader {
  static constexpr std::size_t kOffset = 24;
  static constexpr std::size_t kSize = 12;
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::uint8_t kNoResponseTime = 31;  // not told
  // What follows the header in each datagram; PayloadLength counts it.
  static constexpr std::size_t kPayload = kMadSize - kOffset - kSize;

  std::uint8_t version = kVersion;
  RmppType type = RmppType::kNone;
  std::uint8_t response_time = 0;  // 5 bits
  std::uint8_t flags = 0;          // of RmppFlag
  RmppStatus status = RmppStatus::kNormal;
  std::uint32_t segment = 0;
  std::uint32_t length_or_window = 0;

  friend bool operator==(const RmppHeader&, const RmppHeader&) = default;

  [[nodiscard]] bool active() const { return (flags & kRmppActive) != 0; }
  [[nodiscard]] bool first() const { return (flags & kRmppFirst) != 0; }
  [[nodiscard]] bool last() const { return (flags & kRmppLast) != 0; }

  // `mad` is the whole datagram, or as much of a message as has this header.
  [[nodiscard]] static std::optional<RmppHeader> parse(Bytes mad) {
    if (mad.size() < kOffset + kSize) return std::nullopt;
    const std::byte* at = mad.data() + kOffset;
    return RmppHeader{.version = load_u8(at),
                      .type = static_cast<RmppType>(load_u8(at + 1)),
                      .response_time = static_cast<std::uint8_t>(load_u8(at + 2) >> 3),
                      .flags = static_cast<std::uint8_t>(load_u8(at + 2) & 7),
                      .status = static_cast<RmppStatus>(load_u8(at + 3)),
                      .segment = load_be32(at + 4),
                      .length_or_window = load_be32(at + 8)};
  }

  void write(MutableBytes mad) const {
    assert(mad.size() >= kOffset + kSize);
    std::byte* at = mad.data() + kOffset;
    store_u8(at, version);
    store_u8(at + 1, static_cast<std::uint8_t>(type));
    store_u8(at + 2, static_cast<std::uint8_t>(response_time << 3 | (flags & 7)));
    store_u8(at + 3, static_cast<std::uint8_t>(status));
    store_be32(at + 4, segment);
    store_be32(at + 8, length_or_window);
  }
};

// Where the data of a message begins, behind the headers that every segment repeats; nothing for
// classes without this protocol. IBA 13.6.2, 15.2.1.1, 16.3, 16.5.
[[nodiscard]] constexpr std::optional<std::size_t> rmpp_data_offset(MgmtClass mgmt_class) {
  constexpr auto kBootInformation = static_cast<MgmtClass>(0x12);
  if (mgmt_class == MgmtClass::kSubnAdm) return 56;
  if (mgmt_class == MgmtClass::kDeviceMgt || mgmt_class == MgmtClass::kDeviceAdm ||
      mgmt_class == kBootInformation) {
    return 64;
  }
  if (mgmt_class >= MgmtClass::kVendorOuiFirst && mgmt_class <= MgmtClass::kVendorOuiLast) {
    return 40;
  }
  return std::nullopt;
}

}  // namespace weft::wire
