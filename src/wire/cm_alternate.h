// SPDX-License-Identifier: Apache-2.0
// Another path for a standing connection: LAP and APR, IBA 12.8.1 and 12.8.2. Layouts as in
// cm_connect.h.
#pragma once

#include <optional>

#include "wire/cm_path.h"

namespace weft::wire {

// 0-3 LocalCommID  4-7 RemoteCommID  12-14 RemoteQPN or RemoteEECN  15 RemoteCMResponseTimeout(5)
// 20-21 LocalLID  22-23 RemoteLID  24-39 LocalGID  40-55 RemoteGID  56-58 FlowLabel(20) rsv(4)
// 59 TrafficClass  60 HopLimit  61 rsv(2) PacketRate(6)  62 SL(4) SubnetLocal(1) rsv(3)
// 63 LocalAckTimeout(5) rsv(3)  64-231 PrivateData
struct CmLap {
  static constexpr CmMessage kId = CmMessage::kLap;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};
  CommId remote_comm_id{};
  Qpn remote_qpn{};                    // of the receiver
  std::uint8_t remote_cm_timeout = 0;  // 5 bits: 4.096 us * 2^n
  CmPath path{};
  CmArea<kLapPrivateData> private_data{};

  friend bool operator==(const CmLap&, const CmLap&) = default;

  [[nodiscard]] static std::optional<CmLap> parse(Bytes body);
  void write(MutableBytes body) const;
};

// 0-3 LocalCommID  4-7 RemoteCommID  8 AdditionalInfoLength  9 APStatus  12-83 AdditionalInfo
// 84-231 PrivateData
struct CmApr {
  static constexpr CmMessage kId = CmMessage::kApr;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};
  CommId remote_comm_id{};
  std::uint8_t info_length = 0;  // bytes of `info` that count; a peer may say more than 72
  AlternatePathStatus status{};
  CmArea<kMaxAdditionalInfo> info{};
  CmArea<kAprPrivateData> private_data{};

  friend bool operator==(const CmApr&, const CmApr&) = default;

  [[nodiscard]] static std::optional<CmApr> parse(Bytes body);
  void write(MutableBytes body) const;
};

}  // namespace weft::wire
