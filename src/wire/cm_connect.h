// SPDX-License-Identifier: Apache-2.0
// The three messages that make a connection: REQ, REP and RTU, IBA 12.6.5, 12.6.8 and 12.6.9. Each
// is read from and written to the 232 bytes after the MAD header; in the layouts below a byte is
// counted from there.
#pragma once

#include <optional>

#include "base/ids.h"
#include "wire/cm_path.h"

namespace weft::wire {

// 0-3 LocalCommID  8-15 ServiceID  16-23 LocalCAGUID  28-31 LocalQ_Key  32-34 LocalQPN
// 35 ResponderResources  36-38 LocalEECN  39 InitiatorDepth  40-42 RemoteEECN
// 43 RemoteCMResponseTimeout(5) TransportService(2) EndToEndFlowControl(1)  44-46 StartingPSN
// 47 LocalCMResponseTimeout(5) RetryCount(3)  48-49 P_Key  50 PathMTU(4) RDCExists(1) RNRRetry(3)
// 51 MaxCMRetries(4) SRQ(1) ExtendedTransport(3)  52-95 primary path  96-139 alternate path
// 140-231 PrivateData
struct CmReq {
  static constexpr CmMessage kId = CmMessage::kReq;
  static constexpr std::size_t kSize = kCmBodySize;
  // With transport service 3, IBA A14: the extended transport field names XRC.
  static constexpr std::uint8_t kExtendedXrc = 1;

  CommId local_comm_id{};
  ServiceId service_id{};
  Guid local_ca_guid{};
  QKey local_qkey{};
  Qpn local_qpn{};
  std::uint8_t responder_resources = 0;
  std::uint32_t local_eecn = 0;  // 24 bits
  std::uint8_t initiator_depth = 0;
  std::uint32_t remote_eecn = 0;       // 24 bits
  std::uint8_t remote_cm_timeout = 0;  // 5 bits: 4.096 us * 2^n
  CmTransport transport{};
  bool flow_control = false;
  Psn starting_psn{};
  std::uint8_t local_cm_timeout = 0;  // 5 bits
  std::uint8_t retry_count = 0;       // 3 bits
  PKey pkey{};
  std::uint8_t path_mtu = 0;  // 4 bits, IBA 9.1.1: 1 is 256 bytes, 5 is 4096
  bool rdc_exists = false;
  std::uint8_t rnr_retry = 0;       // 3 bits
  std::uint8_t max_cm_retries = 0;  // 4 bits
  bool srq = false;
  std::uint8_t extended_transport = 0;  // 3 bits
  CmPath primary{};
  CmPath alternate{};
  CmArea<kReqPrivateData> private_data{};

  friend bool operator==(const CmReq&, const CmReq&) = default;

  [[nodiscard]] static std::optional<CmReq> parse(Bytes body);
  void write(MutableBytes body) const;
};

// 0-3 LocalCommID  4-7 RemoteCommID  8-11 LocalQ_Key  12-14 LocalQPN  16-18 LocalEECN
// 20-22 StartingPSN  24 ResponderResources  25 InitiatorDepth
// 26 TargetACKDelay(5) FailoverAccepted(2) EndToEndFlowControl(1)  27 RNRRetry(3) SRQ(1) rsv(4)
// 28-35 LocalCAGUID  36-231 PrivateData
struct CmRep {
  static constexpr CmMessage kId = CmMessage::kRep;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};
  CommId remote_comm_id{};
  QKey local_qkey{};
  Qpn local_qpn{};
  std::uint32_t local_eecn = 0;  // 24 bits
  Psn starting_psn{};
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;   // 5 bits
  std::uint8_t failover_accepted = 0;  // 2 bits
  bool flow_control = false;
  std::uint8_t rnr_retry = 0;  // 3 bits
  bool srq = false;
  Guid local_ca_guid{};
  CmArea<kRepPrivateData> private_data{};

  friend bool operator==(const CmRep&, const CmRep&) = default;

  [[nodiscard]] static std::optional<CmRep> parse(Bytes body);
  void write(MutableBytes body) const;
};

// 0-3 LocalCommID  4-7 RemoteCommID  8-231 PrivateData
struct CmRtu {
  static constexpr CmMessage kId = CmMessage::kRtu;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};
  CommId remote_comm_id{};
  CmArea<kRtuPrivateData> private_data{};

  friend bool operator==(const CmRtu&, const CmRtu&) = default;

  [[nodiscard]] static std::optional<CmRtu> parse(Bytes body);
  void write(MutableBytes body) const;
};

}  // namespace weft::wire
