// SPDX-License-Identifier: Apache-2.0
// Where the components of the administrator's records are, by their numbers in the ComponentMask
// (IBA 15.2.5): what a question gives of them is compared bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "wire/sa/sa_header.h"

namespace weft::wire {

struct SaComponent {
  std::uint16_t at = 0;     // bits from the record's beginning
  std::uint16_t width = 0;  // bits; 0: reserved, and like everything
};

struct SaLayout {
  SaAttribute attribute{};
  std::uint16_t size = 0;  // bytes, as records follow each other: a multiple of 8
  std::span<const SaComponent> components;
};

// NodeRecord: 0-1 LID  4-43 NodeInfo  44-107 NodeDescription
extern const SaLayout kNodeRecord;
// PortInfoRecord: 0-1 EndportLID  2 PortNum  3 Options  4-67 PortInfo
extern const SaLayout kPortInfoRecord;
// SLtoVLMappingTableRecord: 0-1 LID  2 InputPortNum  3 OutputPortNum  8-15 the table
extern const SaLayout kSlToVlRecord;
// SwitchInfoRecord: 0-1 LID  4-23 SwitchInfo
extern const SaLayout kSwitchInfoRecord;
// LinearForwardingTableRecord: 0-1 LID  2-3 BlockNum  8-71 the block
extern const SaLayout kLinearRecord;
// MulticastForwardingTableRecord: 0-1 LID  2-3 Position(4) rsv(3) BlockNum(9)  8-71 the block
extern const SaLayout kMulticastRecord;
// SMInfoRecord: 0-1 LID  4-24 SMInfo
extern const SaLayout kSmInfoRecord;
// LinkRecord: 0-1 FromLID  2 FromPort  3 ToPort  4-5 ToLID
extern const SaLayout kLinkRecord;
// GUIDInfoRecord: 0-1 LID  2 BlockNum  8-71 the block
extern const SaLayout kGuidInfoRecord;
// ServiceRecord: see service_record.h
extern const SaLayout kServiceRecord;
// P_KeyTableRecord: 0-1 LID  2-3 BlockNum  4 PortNum  8-71 the block
extern const SaLayout kPKeyRecord;
// VLArbitrationTableRecord: 0-1 LID  2 OutputPortNum  3 BlockNum  8-71 the block
extern const SaLayout kVlArbitrationRecord;
// InformInfoRecord: 0-15 SubscriberGID  16-17 SubscriberEnum  24-59 InformInfo
extern const SaLayout kInformInfoRecord;

// Whether a record has all that the question's components say. Numbers that the layout does not
// have are like everything. Both are at least layout.size bytes.
[[nodiscard]] bool matches(const SaLayout& layout, std::uint64_t mask, Bytes question,
                           Bytes record);

}  // namespace weft::wire
