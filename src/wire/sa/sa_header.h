// SPDX-License-Identifier: Apache-2.0
// The header of subnet administration, IBA 15.2.1.1: behind the RMPP header, before 200 bytes of
// data; and what its records share. The records are in files of their own.
//
//   36-43 SM_Key  44-45 AttributeOffset (size of a record in 8 bytes)  46-47 rsv
//   48-55 ComponentMask (bit 0 is the lowest of byte 55)  56-255 data
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

inline constexpr std::uint8_t kSaClassVersion = 2;

// IBA 15.2.5, table 192.
enum class SaAttribute : std::uint16_t {
  kClassPortInfo = 0x0001,
  kNotice = 0x0002,
  kInformInfo = 0x0003,
  kNodeRecord = 0x0011,
  kPortInfoRecord = 0x0012,
  kSlToVlRecord = 0x0013,
  kSwitchInfoRecord = 0x0014,
  kLinearRecord = 0x0015,
  kMulticastRecord = 0x0017,
  kSmInfoRecord = 0x0018,
  kLinkRecord = 0x0020,
  kGuidInfoRecord = 0x0030,
  kServiceRecord = 0x0031,
  kPKeyRecord = 0x0033,
  kPathRecord = 0x0035,
  kVlArbitrationRecord = 0x0036,
  kMemberRecord = 0x0038,
  kTraceRecord = 0x0039,
  kMultiPathRecord = 0x003A,
  kInformInfoRecord = 0x00F3,
};

// By its name in the standard: "PathRecord". Empty: there is none of that number.
[[nodiscard]] constexpr std::string_view to_string(SaAttribute attribute) {
  switch (attribute) {
    case SaAttribute::kClassPortInfo:
      return "ClassPortInfo";
    case SaAttribute::kNotice:
      return "Notice";
    case SaAttribute::kInformInfo:
      return "InformInfo";
    case SaAttribute::kNodeRecord:
      return "NodeRecord";
    case SaAttribute::kPortInfoRecord:
      return "PortInfoRecord";
    case SaAttribute::kSlToVlRecord:
      return "SLtoVLMappingTableRecord";
    case SaAttribute::kSwitchInfoRecord:
      return "SwitchInfoRecord";
    case SaAttribute::kLinearRecord:
      return "LinearForwardingTableRecord";
    case SaAttribute::kMulticastRecord:
      return "MulticastForwardingTableRecord";
    case SaAttribute::kSmInfoRecord:
      return "SMInfoRecord";
    case SaAttribute::kLinkRecord:
      return "LinkRecord";
    case SaAttribute::kGuidInfoRecord:
      return "GUIDInfoRecord";
    case SaAttribute::kServiceRecord:
      return "ServiceRecord";
    case SaAttribute::kPKeyRecord:
      return "P_KeyTableRecord";
    case SaAttribute::kPathRecord:
      return "PathRecord";
    case SaAttribute::kVlArbitrationRecord:
      return "VLArbitrationTableRecord";
    case SaAttribute::kMemberRecord:
      return "MCMemberRecord";
    case SaAttribute::kTraceRecord:
      return "TraceRecord";
    case SaAttribute::kMultiPathRecord:
      return "MultiPathRecord";
    case SaAttribute::kInformInfoRecord:
      return "InformInfoRecord";
  }
  return "";
}

// What its answers add to the status of a MAD, IBA 15.2.2, table 188.
enum class SaStatus : std::uint16_t {
  kOk = 0,
  kNoResources = 0x0100,
  kRequestInvalid = 0x0200,
  kNoRecords = 0x0300,
  kTooManyRecords = 0x0400,
  kInvalidGid = 0x0500,
  kInsufficientComponents = 0x0600,
  kDenied = 0x0700,
};

struct SaHeader {
  static constexpr std::size_t kOffset = 36;
  static constexpr std::size_t kSize = 20;
  static constexpr std::size_t kDataOffset = 56;
  static constexpr std::size_t kDataSize = 200;

  std::uint64_t sm_key = 0;
  std::uint16_t attribute_offset = 0;  // 8 bytes each
  std::uint64_t component_mask = 0;

  friend bool operator==(const SaHeader&, const SaHeader&) = default;

  // `mad` is the whole datagram, or a message that begins like one.
  [[nodiscard]] static std::optional<SaHeader> parse(Bytes mad) {
    if (mad.size() < kOffset + kSize) return std::nullopt;
    const std::byte* at = mad.data() + kOffset;
    return SaHeader{.sm_key = load_be64(at),
                    .attribute_offset = load_be16(at + 8),
                    .component_mask = load_be64(at + 12)};
  }

  void write(MutableBytes mad) const {
    assert(mad.size() >= kOffset + kSize);
    std::byte* at = mad.data() + kOffset;
    store_be64(at, sm_key);
    store_be16(at + 8, attribute_offset);
    store_be16(at + 10, 0);
    store_be64(at + 12, component_mask);
  }
};

// A value of a record that a question can set a bound with (IBA 15.2.5.16: MTU, Rate,
// PacketLifeTime).
struct SaValue {
  enum class Selector : std::uint8_t { kAbove = 0, kBelow = 1, kExactly = 2, kLargest = 3 };

  Selector selector{};
  std::uint8_t value = 0;  // 6 bits

  friend bool operator==(const SaValue&, const SaValue&) = default;

  [[nodiscard]] static SaValue load(const std::byte* at) {
    return {.selector = static_cast<Selector>(load_u8(at) >> 6),
            .value = static_cast<std::uint8_t>(load_u8(at) & 0x3F)};
  }
  void store(std::byte* at) const {
    store_u8(at, static_cast<std::uint8_t>(static_cast<unsigned>(selector) << 6 | (value & 0x3Fu)));
  }
};

}  // namespace weft::wire
