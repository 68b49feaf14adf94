// SPDX-License-Identifier: Apache-2.0
// PortInfo, IBA 14.2.5.6: all that the subnet manager reads and sets of one port.
//
//   0-7 M_Key  8-15 GidPrefix  16-17 LID  18-19 MasterSMLID  20-23 CapabilityMask  24-25 DiagCode
//   26-27 M_KeyLeasePeriod  28 LocalPortNum  29 LinkWidthEnabled  30 LinkWidthSupported
//   31 LinkWidthActive  32 LinkSpeedSupported(4) PortState(4)
//   33 PortPhysicalState(4) LinkDownDefaultState(4)  34 M_KeyProtectBits(2) rsv(3) LMC(3)
//   35 LinkSpeedActive(4) LinkSpeedEnabled(4)  36 NeighborMTU(4) MasterSMSL(4)
//   37 VLCap(4) InitType(4)  38 VLHighLimit  39 VLArbitrationHighCap  40 VLArbitrationLowCap
//   41 InitTypeReply(4) MTUCap(4)  42 VLStallCount(3) HOQLife(5)
//   43 OperationalVLs(4) PartitionEnforcementInbound(1) Outbound(1) FilterRawInbound(1)
//      Outbound(1)  44-45 M_KeyViolations  46-47 P_KeyViolations  48-49 Q_KeyViolations
//   50 GUIDCap  51 ClientReregister(1) MulticastPKeyTrapSuppressionEnabled(2) SubnetTimeOut(5)
//   52 rsv(3) RespTimeValue(5)  53 LocalPhyErrors(4) OverrunErrors(4)  54-55 MaxCreditHint
//   56 rsv  57-59 LinkRoundTripLatency  60-61 CapabilityMask2
//   62 LinkSpeedExtActive(4) LinkSpeedExtSupported(4)  63 rsv(3) LinkSpeedExtEnabled(5)
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::wire {

enum class PortState : std::uint8_t {
  kNoChange = 0,  // in a Set
  kDown = 1,
  kInitialize = 2,
  kArmed = 3,
  kActive = 4,
};

enum class PortPhysicalState : std::uint8_t {
  kNoChange = 0,  // in a Set
  kSleep = 1,
  kPolling = 2,
  kDisabled = 3,
  kTraining = 4,
  kLinkUp = 5,
  kLinkErrorRecovery = 6,
  kPhyTest = 7,
};

// Bits of CapabilityMask.
enum PortCapability : std::uint32_t {
  kCapSm = 1u << 1,  // a subnet manager is there
  kCapNotice = 1u << 2,
  kCapTrap = 1u << 3,
  kCapAutomaticMigration = 1u << 5,
  kCapSlMapping = 1u << 6,
  kCapLedInfo = 1u << 9,
  kCapSmDisabled = 1u << 10,
  kCapSystemImageGuid = 1u << 11,
  kCapPKeySwitchTrap = 1u << 12,
  kCapExtendedSpeeds = 1u << 14,
  kCapCapabilityMask2 = 1u << 15,
  kCapCm = 1u << 16,
  kCapSnmp = 1u << 17,
  kCapReinit = 1u << 18,
  kCapDeviceManagement = 1u << 19,
  kCapVendorClass = 1u << 20,
  kCapDrNotice = 1u << 21,
  kCapCapabilityMaskNotice = 1u << 22,
  kCapBootManagement = 1u << 23,
  kCapLinkRoundTripLatency = 1u << 24,
  kCapClientReregistration = 1u << 25,
  kCapOtherLocalChangesNotice = 1u << 26,
};

// LinkWidth* are masks: 1 = 1x, 2 = 4x, 4 = 8x, 8 = 12x, 16 = 2x. LinkSpeed*: 1 = 2.5, 2 = 5,
// 4 = 10 Gb/s per lane; LinkSpeedExt*: 1 = 14.0625, 2 = 25.78125, 4 = 53.125.
// MTU codes: 1 = 256 to 5 = 4096 bytes. VL codes: 1 = VL0, 2 = VL0-1, 3 = VL0-3, 4 = VL0-7,
// 5 = VL0-14.
struct PortInfo {
  static constexpr std::size_t kSize = 64;
  static constexpr std::uint8_t kAllSupportedWidths = 255;    // in LinkWidthEnabled of a Set
  static constexpr std::uint8_t kAllSupportedSpeeds = 15;     // in LinkSpeedEnabled
  static constexpr std::uint8_t kAllSupportedExtSpeeds = 31;  // in LinkSpeedExtEnabled
  static constexpr std::uint8_t kNoExtSpeeds = 30;

  std::uint64_t mkey = 0;
  std::uint64_t gid_prefix = 0;
  Lid lid{};
  Lid master_sm_lid{};
  std::uint32_t capability_mask = 0;
  std::uint16_t diag_code = 0;
  std::uint16_t mkey_lease_period = 0;  // s; 0: the lease never expires
  std::uint8_t local_port = 0;          // where the request came in, not the port described
  std::uint8_t link_width_enabled = 0;
  std::uint8_t link_width_supported = 0;
  std::uint8_t link_width_active = 0;
  std::uint8_t link_speed_supported = 0;
  PortState state{};
  PortPhysicalState physical_state{};
  PortPhysicalState link_down_default{};  // kSleep or kPolling
  std::uint8_t mkey_protect = 0;          // 2 bits, IBA 14.2.4.1
  std::uint8_t lmc = 0;                   // 3 bits: LIDs of this port are 2^lmc
  std::uint8_t link_speed_active = 0;
  std::uint8_t link_speed_enabled = 0;
  std::uint8_t neighbor_mtu = 0;
  Sl master_sm_sl{};
  std::uint8_t vl_cap = 0;
  std::uint8_t init_type = 0;
  std::uint8_t vl_high_limit = 0;
  std::uint8_t vl_arbitration_high_cap = 0;  // entries
  std::uint8_t vl_arbitration_low_cap = 0;
  std::uint8_t init_type_reply = 0;
  std::uint8_t mtu_cap = 0;
  std::uint8_t vl_stall_count = 0;  // 3 bits
  std::uint8_t hoq_life = 0;        // 5 bits: 4.096 us * 2^n, above 19 for ever
  std::uint8_t operational_vls = 0;
  bool enforce_partition_inbound = false;
  bool enforce_partition_outbound = false;
  bool filter_raw_inbound = false;
  bool filter_raw_outbound = false;
  std::uint16_t mkey_violations = 0;
  std::uint16_t pkey_violations = 0;
  std::uint16_t qkey_violations = 0;
  std::uint8_t guid_cap = 0;  // entries of GUIDInfo
  bool client_reregister = false;
  std::uint8_t multicast_pkey_trap_suppression = 0;  // 2 bits
  std::uint8_t subnet_timeout = 0;                   // 5 bits: 4.096 us * 2^n
  std::uint8_t response_time = 0;                    // 5 bits: 4.096 us * 2^n
  std::uint8_t local_phy_errors = 0;                 // thresholds, 4 bits
  std::uint8_t overrun_errors = 0;
  std::uint16_t max_credit_hint = 0;
  std::uint32_t link_round_trip_latency = 0;  // 24 bits
  std::uint16_t capability_mask2 = 0;
  std::uint8_t link_speed_ext_active = 0;
  std::uint8_t link_speed_ext_supported = 0;
  std::uint8_t link_speed_ext_enabled = 0;

  friend bool operator==(const PortInfo&, const PortInfo&) = default;

  [[nodiscard]] static std::optional<PortInfo> parse(Bytes bytes);
  void write(MutableBytes out) const;
};

}  // namespace weft::wire
