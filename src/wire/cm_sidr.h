// SPDX-License-Identifier: Apache-2.0
// Service ID resolution, from a service ID to a queue pair of datagrams: SIDR_REQ and SIDR_REP, IBA
// 12.11.1. Layouts as in cm_connect.h.
#pragma once

#include <optional>

#include "base/ids.h"
#include "wire/cm_field.h"

namespace weft::wire {

// 0-3 RequestID  4-5 P_Key  8-15 ServiceID  16-231 PrivateData
struct CmSidrReq {
  static constexpr CmMessage kId = CmMessage::kSidrReq;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId request_id{};
  PKey pkey{};
  ServiceId service_id{};
  CmArea<kSidrReqPrivateData> private_data{};

  friend bool operator==(const CmSidrReq&, const CmSidrReq&) = default;

  [[nodiscard]] static std::optional<CmSidrReq> parse(Bytes body) {
    if (body.size() < kSize) return std::nullopt;
    const std::byte* at = body.data();
    return CmSidrReq{.request_id = CommId{load_be32(at)},
                     .pkey = PKey{load_be16(at + 4)},
                     .service_id = ServiceId{load_be64(at + 8)},
                     .private_data = detail::load_area<kSidrReqPrivateData>(at + 16)};
  }

  void write(MutableBytes body) const {
    std::byte* at = detail::cleared(body);
    store_be32(at, request_id.value());
    store_be16(at + 4, pkey.value());
    store_be64(at + 8, service_id.value());
    detail::store_area(at + 16, private_data);
  }
};

// 0-3 RequestID  4 Status  5 AdditionalInfoLength  8-10 QPN  12-19 ServiceID  20-23 Q_Key
// 24-95 AdditionalInfo  96-231 PrivateData
struct CmSidrRep {
  static constexpr CmMessage kId = CmMessage::kSidrRep;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId request_id{};
  SidrStatus status{};
  std::uint8_t info_length = 0;  // bytes of `info` that count; a peer may say more than 72
  Qpn qpn{};
  ServiceId service_id{};
  QKey qkey{};
  CmArea<kMaxAdditionalInfo> info{};
  CmArea<kSidrRepPrivateData> private_data{};

  friend bool operator==(const CmSidrRep&, const CmSidrRep&) = default;

  [[nodiscard]] static std::optional<CmSidrRep> parse(Bytes body) {
    if (body.size() < kSize) return std::nullopt;
    const std::byte* at = body.data();
    return CmSidrRep{.request_id = CommId{load_be32(at)},
                     .status = static_cast<SidrStatus>(load_u8(at + 4)),
                     .info_length = load_u8(at + 5),
                     .qpn = Qpn{load_be24(at + 8)},
                     .service_id = ServiceId{load_be64(at + 12)},
                     .qkey = QKey{load_be32(at + 20)},
                     .info = detail::load_area<kMaxAdditionalInfo>(at + 24),
                     .private_data = detail::load_area<kSidrRepPrivateData>(at + 96)};
  }

  void write(MutableBytes body) const {
    std::byte* at = detail::cleared(body);
    store_be32(at, request_id.value());
    store_u8(at + 4, static_cast<std::uint8_t>(status));
    store_u8(at + 5, info_length);
    store_be24(at + 8, qpn.value());
    store_be64(at + 12, service_id.value());
    store_be32(at + 20, qkey.value());
    detail::store_area(at + 24, info);
    detail::store_area(at + 96, private_data);
  }
};

}  // namespace weft::wire
