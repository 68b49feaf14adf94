// SPDX-License-Identifier: Apache-2.0
// Notice, IBA 13.4.8.2 and 14.2.5.1: what a trap tells.
//
//   byte 0 IsGeneric(1) Type(7)  1-3 ProducerType (of a vendor: its OUI)  4-5 TrapNumber (DeviceID)
//   6-7 IssuerLID  8-9 NoticeToggle(1) NoticeCount(15)  10-63 DataDetails
#pragma once

#include <array>
#include <cassert>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

enum class NoticeType : std::uint8_t {
  kFatal = 0,
  kUrgent = 1,
  kSecurity = 2,
  kSubnetManagement = 3,
  kInformational = 4,
};

// IBA 14.2.5.1, table 131: the traps of the subnet administrator, and those of nodes.
enum class TrapNumber : std::uint16_t {
  kGidInService = 64,
  kGidOutOfService = 65,
  kGroupCreated = 66,
  kGroupDeleted = 67,
  kRePath = 69,
  kLinkStateChange = 128,
  kLocalLinkIntegrity = 129,
  kBufferOverrun = 130,
  kFlowControlWatchdog = 131,
  kCapabilityChange = 144,
  kSystemImageGuidChange = 145,
  kBadMkey = 256,
  kBadPkey = 257,
  kBadQkey = 258,
  kBadPkeyAtSwitch = 259,
};

struct Notice {
  static constexpr std::size_t kSize = 64;
  static constexpr std::size_t kDetails = 54;

  bool generic = true;
  NoticeType type{};
  std::uint32_t producer = 0;  // 24 bits: a NodeType
  TrapNumber trap{};
  Lid issuer{};
  bool toggle = false;
  std::uint16_t count = 0;  // 15 bits
  std::array<std::byte, kDetails> details{};

  friend bool operator==(const Notice&, const Notice&) = default;

  [[nodiscard]] static std::optional<Notice> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    Notice notice{.generic = (load_u8(at) & 0x80) != 0,
                  .type = static_cast<NoticeType>(load_u8(at) & 0x7F),
                  .producer = load_be24(at + 1),
                  .trap = static_cast<TrapNumber>(load_be16(at + 4)),
                  .issuer = Lid{load_be16(at + 6)},
                  .toggle = (load_u8(at + 8) & 0x80) != 0,
                  .count = static_cast<std::uint16_t>(load_be16(at + 8) & 0x7FFF)};
    std::memcpy(notice.details.data(), at + 10, kDetails);
    return notice;
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_u8(at, static_cast<std::uint8_t>((generic ? 0x80 : 0) |
                                           (static_cast<std::uint8_t>(type) & 0x7F)));
    store_be24(at + 1, producer);
    store_be16(at + 4, static_cast<std::uint16_t>(trap));
    store_be16(at + 6, issuer.value());
    store_be16(at + 8, static_cast<std::uint16_t>((toggle ? 0x8000 : 0) | (count & 0x7FFF)));
    std::memcpy(at + 10, details.data(), kDetails);
  }
};

}  // namespace weft::wire
