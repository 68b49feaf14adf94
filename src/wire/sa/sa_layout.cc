// SPDX-License-Identifier: Apache-2.0
#include "wire/sa/sa_layout.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "wire/endian.h"
#include "wire/sa/service_record.h"

namespace weft::wire {
namespace {

constexpr SaComponent kReserved{};

constexpr std::array kNode{
    SaComponent{0, 16},     // LID
    kReserved,              //
    SaComponent{32, 8},     // BaseVersion
    SaComponent{40, 8},     // ClassVersion
    SaComponent{48, 8},     // NodeType
    SaComponent{56, 8},     // NumPorts
    SaComponent{64, 64},    // SystemImageGUID
    SaComponent{128, 64},   // NodeGUID
    SaComponent{192, 64},   // PortGUID
    SaComponent{256, 16},   // PartitionCap
    SaComponent{272, 16},   // DeviceID
    SaComponent{288, 32},   // Revision
    SaComponent{320, 8},    // LocalPortNum
    SaComponent{328, 24},   // VendorID
    SaComponent{352, 512},  // NodeDescription
};

constexpr std::array kPortInfo{
    SaComponent{0, 16},    // EndportLID
    SaComponent{16, 8},    // PortNum
    kReserved,             // Options: of the question, not of the record
    SaComponent{32, 64},   // M_Key
    SaComponent{96, 64},   // GidPrefix
    SaComponent{160, 16},  // LID
    SaComponent{176, 16},  // MasterSMLID
    SaComponent{192, 32},  // CapabilityMask
    SaComponent{224, 16},  // DiagCode
    SaComponent{240, 16},  // M_KeyLeasePeriod
    SaComponent{256, 8},   // LocalPortNum
    SaComponent{264, 8},   // LinkWidthEnabled
    SaComponent{272, 8},   // LinkWidthSupported
    SaComponent{280, 8},   // LinkWidthActive
    SaComponent{288, 4},   // LinkSpeedSupported
    SaComponent{292, 4},   // PortState
    SaComponent{296, 4},   // PortPhysicalState
    SaComponent{300, 4},   // LinkDownDefaultState
    SaComponent{304, 2},   // M_KeyProtectBits
    kReserved,             //
    SaComponent{309, 3},   // LMC
    SaComponent{312, 4},   // LinkSpeedActive
    SaComponent{316, 4},   // LinkSpeedEnabled
    SaComponent{320, 4},   // NeighborMTU
    SaComponent{324, 4},   // MasterSMSL
    SaComponent{328, 4},   // VLCap
    SaComponent{332, 4},   // InitType
    SaComponent{336, 8},   // VLHighLimit
    SaComponent{344, 8},   // VLArbitrationHighCap
    SaComponent{352, 8},   // VLArbitrationLowCap
    SaComponent{360, 4},   // InitTypeReply
    SaComponent{364, 4},   // MTUCap
    SaComponent{368, 3},   // VLStallCount
    SaComponent{371, 5},   // HOQLife
    SaComponent{376, 4},   // OperationalVLs
    SaComponent{380, 1},   // PartitionEnforcementInbound
    SaComponent{381, 1},   // PartitionEnforcementOutbound
    SaComponent{382, 1},   // FilterRawInbound
    SaComponent{383, 1},   // FilterRawOutbound
    SaComponent{384, 16},  // M_KeyViolations
    SaComponent{400, 16},  // P_KeyViolations
    SaComponent{416, 16},  // Q_KeyViolations
    SaComponent{432, 8},   // GUIDCap
    SaComponent{440, 1},   // ClientReregister
    kReserved,             //
    SaComponent{443, 5},   // SubnetTimeOut
    kReserved,             //
    SaComponent{451, 5},   // RespTimeValue
    SaComponent{456, 4},   // LocalPhyErrors
    SaComponent{460, 4},   // OverrunErrors
    SaComponent{464, 16},  // MaxCreditHint
    kReserved,             //
    SaComponent{488, 24},  // LinkRoundTripLatency
    SaComponent{512, 16},  // CapabilityMask2
    SaComponent{528, 4},   // LinkSpeedExtActive
    SaComponent{532, 4},   // LinkSpeedExtSupported
    kReserved,             //
    SaComponent{539, 5},   // LinkSpeedExtEnabled
};

constexpr std::array kSlToVl{
    SaComponent{0, 16},   // LID
    SaComponent{16, 8},   // InputPortNum
    SaComponent{24, 8},   // OutputPortNum
    kReserved,            //
    SaComponent{64, 64},  // the table
};

constexpr std::array kSwitchInfo{
    SaComponent{0, 16},    // LID
    kReserved,             //
    SaComponent{32, 16},   // LinearFDBCap
    SaComponent{48, 16},   // RandomFDBCap
    SaComponent{64, 16},   // MulticastFDBCap
    SaComponent{80, 16},   // LinearFDBTop
    SaComponent{96, 8},    // DefaultPort
    SaComponent{104, 8},   // DefaultMulticastPrimaryPort
    SaComponent{112, 8},   // DefaultMulticastNotPrimaryPort
    SaComponent{120, 5},   // LifeTimeValue
    SaComponent{125, 1},   // PortStateChange
    kReserved,             //
    SaComponent{128, 16},  // LIDsPerPort
    SaComponent{144, 16},  // PartitionEnforcementCap
    SaComponent{160, 1},   // InboundEnforcementCap
    SaComponent{161, 1},   // OutboundEnforcementCap
    SaComponent{162, 1},   // FilterRawInboundCap
    SaComponent{163, 1},   // FilterRawOutboundCap
    SaComponent{164, 1},   // EnhancedPort0
};

constexpr std::array kLinear{
    SaComponent{0, 16},    // LID
    SaComponent{16, 16},   // BlockNum
    kReserved,             //
    SaComponent{64, 512},  // the block
};

constexpr std::array kMulticast{
    SaComponent{0, 16},    // LID
    SaComponent{16, 4},    // Position
    kReserved,             //
    SaComponent{23, 9},    // BlockNum
    kReserved,             //
    SaComponent{64, 512},  // the block
};

constexpr std::array kSmInfo{
    SaComponent{0, 16},    // LID
    kReserved,             //
    SaComponent{32, 64},   // GUID
    SaComponent{96, 64},   // SM_Key
    SaComponent{160, 32},  // ActCount
    SaComponent{192, 4},   // Priority
    SaComponent{196, 4},   // SMState
};

constexpr std::array kLink{
    SaComponent{0, 16},   // FromLID
    SaComponent{16, 8},   // FromPort
    SaComponent{24, 8},   // ToPort
    SaComponent{32, 16},  // ToLID
};

constexpr std::array kGuidInfo{
    SaComponent{0, 16},    // LID
    SaComponent{16, 8},    // BlockNum
    kReserved,             //
    kReserved,             //
    SaComponent{64, 64},   // GUID 0
    SaComponent{128, 64},  //
    SaComponent{192, 64},  //
    SaComponent{256, 64},  //
    SaComponent{320, 64},  //
    SaComponent{384, 64},  //
    SaComponent{448, 64},  //
    SaComponent{512, 64},  // GUID 7
};

// 16 numbers of 8 bits, 8 of 16, 4 of 32 and 2 of 64 follow the name: each is a component.
constexpr auto service_components() {
  std::array<SaComponent, 37> all{
      SaComponent{0, 64},     // ServiceID
      SaComponent{64, 128},   // ServiceGID
      SaComponent{192, 16},   // ServiceP_Key
      kReserved,              //
      SaComponent{224, 32},   // ServiceLease
      SaComponent{256, 128},  // ServiceKey
      SaComponent{384, 512},  // ServiceName
  };
  std::size_t next = 7;
  std::uint16_t at = 896;
  for (std::uint16_t width = 8; width <= 64; width = static_cast<std::uint16_t>(2 * width)) {
    for (unsigned i = 0; i < 128u / width; ++i) {
      all[next++] = {at, width};
      at = static_cast<std::uint16_t>(at + width);
    }
  }
  return all;
}
constexpr auto kService = service_components();

constexpr std::array kPKeys{
    SaComponent{0, 16},    // LID
    SaComponent{16, 16},   // BlockNum
    SaComponent{32, 8},    // PortNum
    kReserved,             //
    SaComponent{64, 512},  // the block
};

constexpr std::array kVlArbitration{
    SaComponent{0, 16},    // LID
    SaComponent{16, 8},    // OutputPortNum
    SaComponent{24, 8},    // BlockNum
    kReserved,             //
    SaComponent{64, 512},  // the block
};

constexpr std::array kInformInfo{
    SaComponent{0, 128},    // SubscriberGID
    SaComponent{128, 16},   // SubscriberEnum
    kReserved,              //
    SaComponent{192, 128},  // GID
    SaComponent{320, 16},   // LIDRangeBegin
    SaComponent{336, 16},   // LIDRangeEnd
    kReserved,              //
    SaComponent{368, 8},    // IsGeneric
    SaComponent{376, 8},    // Subscribe
    SaComponent{384, 16},   // Type
    SaComponent{400, 16},   // TrapNumber
    SaComponent{416, 24},   // QPN
    kReserved,              //
    SaComponent{443, 5},    // RespTimeValue
    kReserved,              //
    SaComponent{456, 24},   // ProducerType
};

bool same_bits(const SaComponent& what, Bytes a, Bytes b) {
  if (what.at % 8 == 0 && what.width % 8 == 0) {
    return std::memcmp(a.data() + what.at / 8, b.data() + what.at / 8, what.width / 8) == 0;
  }
  // What is not whole bytes lies within two of them: a number of at most 16 bits.
  const std::size_t byte = what.at / 8;
  const auto bits = [&](Bytes of) {
    const unsigned last = byte + 1 < of.size() ? load_u8(of.data() + byte + 1) : 0;
    const unsigned pair = unsigned{load_u8(of.data() + byte)} << 8 | last;
    return pair >> (16 - what.at % 8 - what.width) & ((1u << what.width) - 1);
  };
  return bits(a) == bits(b);
}

}  // namespace

const SaLayout kNodeRecord{SaAttribute::kNodeRecord, 112, kNode};
const SaLayout kPortInfoRecord{SaAttribute::kPortInfoRecord, 72, kPortInfo};
const SaLayout kSlToVlRecord{SaAttribute::kSlToVlRecord, 16, kSlToVl};
const SaLayout kSwitchInfoRecord{SaAttribute::kSwitchInfoRecord, 24, kSwitchInfo};
const SaLayout kLinearRecord{SaAttribute::kLinearRecord, 72, kLinear};
const SaLayout kMulticastRecord{SaAttribute::kMulticastRecord, 72, kMulticast};
const SaLayout kSmInfoRecord{SaAttribute::kSmInfoRecord, 32, kSmInfo};
const SaLayout kLinkRecord{SaAttribute::kLinkRecord, 8, kLink};
const SaLayout kGuidInfoRecord{SaAttribute::kGuidInfoRecord, 72, kGuidInfo};
const SaLayout kServiceRecord{SaAttribute::kServiceRecord, ServiceRecord::kSize, kService};
const SaLayout kPKeyRecord{SaAttribute::kPKeyRecord, 72, kPKeys};
const SaLayout kVlArbitrationRecord{SaAttribute::kVlArbitrationRecord, 72, kVlArbitration};
const SaLayout kInformInfoRecord{SaAttribute::kInformInfoRecord, 64, kInformInfo};

bool matches(const SaLayout& layout, std::uint64_t mask, Bytes question, Bytes record) {
  assert(question.size() >= layout.size && record.size() >= layout.size);
  for (; mask != 0; mask &= mask - 1) {
    const auto component = static_cast<std::size_t>(std::countr_zero(mask));
    if (component >= layout.components.size()) return true;
    const SaComponent& what = layout.components[component];
    if (what.width != 0 && !same_bits(what, question, record)) return false;
  }
  return true;
}

}  // namespace weft::wire
