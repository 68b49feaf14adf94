// SPDX-License-Identifier: Apache-2.0
// The header that all management datagrams have, IBA 13.4.3.
//
//   byte 0  BaseVersion  1  MgmtClass  2  ClassVersion  3  R(1) Method(7)
//        4-5  Status     6-7  ClassSpecific             8-15  TransactionID
//        16-17  AttributeID  18-19  reserved            20-23  AttributeModifier
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

inline constexpr std::size_t kMadSize = 256;  // IBA 13.4.2: all of them

using MadBuffer = std::array<std::byte, kMadSize>;
using MadBytes = std::span<const std::byte, kMadSize>;
using MutableMadBytes = std::span<std::byte, kMadSize>;

// IBA 13.4.4, table 112.
enum class MgmtClass : std::uint8_t {
  kSubnLid = 0x01,
  kSubnAdm = 0x03,
  kPerf = 0x04,
  kBaseboard = 0x05,
  kDeviceMgt = 0x06,
  kCommMgt = 0x07,
  kSnmp = 0x08,
  kVendorFirst = 0x09,
  kVendorLast = 0x0F,
  kDeviceAdm = 0x10,
  kBootMgt = 0x11,
  kVendorOuiFirst = 0x30,  // these name whose class it is in bytes 37 to 39
  kVendorOuiLast = 0x4F,
  kSubnDirected = 0x81,
};

// IBA 13.4.5, table 115; 15.2.2 and 15.4.6 for what the subnet administrator adds.
enum class MadMethod : std::uint8_t {
  kGet = 0x01,
  kSet = 0x02,
  kSend = 0x03,
  kTrap = 0x05,
  kReport = 0x06,
  kTrapRepress = 0x07,
  kGetTable = 0x12,
  kGetTraceTable = 0x13,
  kGetMulti = 0x14,
  kDelete = 0x15,
  kGetResponse = 0x81,
  kReportResponse = 0x86,
  kGetTableResponse = 0x92,
  kGetMultiResponse = 0x94,
  kDeleteResponse = 0x95,
};

inline constexpr std::uint8_t kResponseBit = 0x80;  // R, in the byte of the method

// IBA 13.4.7, table 117: the status bits that all classes share.
enum class MadStatus : std::uint16_t {
  kOk = 0,
  kBusy = 1u << 0,
  kRedirect = 1u << 1,
  kBadVersion = 1u << 2,          // base version, class, or class version: not supported
  kBadMethod = 2u << 2,           // method not supported
  kBadMethodAttribute = 3u << 2,  // method not supported for this attribute
  kInvalidValue = 7u << 2,        // of a field of the attribute, or of the modifier
};

struct MadHeader {
  static constexpr std::size_t kSize = 24;
  static constexpr std::uint8_t kBaseVersion = 1;

  std::uint8_t base_version = kBaseVersion;
  MgmtClass mgmt_class{};
  std::uint8_t class_version = 0;
  MadMethod method{};  // bit 7: a response
  std::uint16_t status = 0;
  std::uint16_t class_specific = 0;
  std::uint64_t transaction_id = 0;
  std::uint16_t attribute_id = 0;
  std::uint32_t attribute_modifier = 0;

  friend bool operator==(const MadHeader&, const MadHeader&) = default;

  [[nodiscard]] static std::optional<MadHeader> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return MadHeader{.base_version = load_u8(at),
                     .mgmt_class = static_cast<MgmtClass>(load_u8(at + 1)),
                     .class_version = load_u8(at + 2),
                     .method = static_cast<MadMethod>(load_u8(at + 3)),
                     .status = load_be16(at + 4),
                     .class_specific = load_be16(at + 6),
                     .transaction_id = load_be64(at + 8),
                     .attribute_id = load_be16(at + 16),
                     .attribute_modifier = load_be32(at + 20)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_u8(at, base_version);
    store_u8(at + 1, static_cast<std::uint8_t>(mgmt_class));
    store_u8(at + 2, class_version);
    store_u8(at + 3, static_cast<std::uint8_t>(method));
    store_be16(at + 4, status);
    store_be16(at + 6, class_specific);
    store_be64(at + 8, transaction_id);
    store_be16(at + 16, attribute_id);
    store_be16(at + 18, 0);
    store_be32(at + 20, attribute_modifier);
  }
};

}  // namespace weft::wire
