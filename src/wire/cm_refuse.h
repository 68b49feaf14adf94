// SPDX-License-Identifier: Apache-2.0
// The two answers that are not the one hoped for: MRA, "wait", and REJ, "no", IBA 12.6.6 and
// 12.6.7. Layouts as in cm_connect.h.
#pragma once

#include <optional>

#include "wire/cm_field.h"

namespace weft::wire {

// 0-3 LocalCommID  4-7 RemoteCommID  8 MessageMRAed(2) rsv(6)  9 ServiceTimeout(5) rsv(3)
// 10-231 PrivateData
struct CmMra {
  static constexpr CmMessage kId = CmMessage::kMra;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};
  CommId remote_comm_id{};
  CmAnswered message{};
  std::uint8_t service_timeout = 0;  // 5 bits: 4.096 us * 2^n
  CmArea<kMraPrivateData> private_data{};

  friend bool operator==(const CmMra&, const CmMra&) = default;

  [[nodiscard]] static std::optional<CmMra> parse(Bytes body) {
    if (body.size() < kSize) return std::nullopt;
    const std::byte* at = body.data();
    return CmMra{.local_comm_id = CommId{load_be32(at)},
                 .remote_comm_id = CommId{load_be32(at + 4)},
                 .message = static_cast<CmAnswered>(detail::bits<6, 2>(load_u8(at + 8))),
                 .service_timeout = detail::bits<3, 5>(load_u8(at + 9)),
                 .private_data = detail::load_area<kMraPrivateData>(at + 10)};
  }

  void write(MutableBytes body) const {
    std::byte* at = detail::cleared(body);
    store_be32(at, local_comm_id.value());
    store_be32(at + 4, remote_comm_id.value());
    store_u8(at + 8, detail::placed<6, 2>(static_cast<unsigned>(message)));
    store_u8(at + 9, detail::placed<3, 5>(service_timeout));
    detail::store_area(at + 10, private_data);
  }
};

// 0-3 LocalCommID  4-7 RemoteCommID  8 MessageRejected(2) rsv(6)  9 RejectInfoLength(7) rsv(1)
// 10-11 Reason  12-83 AdditionalRejectInformation  84-231 PrivateData
struct CmRej {
  static constexpr CmMessage kId = CmMessage::kRej;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};  // 0 when the rejecting side never had one
  CommId remote_comm_id{};
  CmAnswered message{};
  std::uint8_t info_length = 0;  // 7 bits: bytes of `info` that count; a peer may say more than 72
  RejectReason reason{};
  CmArea<kMaxAdditionalInfo> info{};
  CmArea<kRejPrivateData> private_data{};

  friend bool operator==(const CmRej&, const CmRej&) = default;

  [[nodiscard]] static std::optional<CmRej> parse(Bytes body) {
    if (body.size() < kSize) return std::nullopt;
    const std::byte* at = body.data();
    return CmRej{.local_comm_id = CommId{load_be32(at)},
                 .remote_comm_id = CommId{load_be32(at + 4)},
                 .message = static_cast<CmAnswered>(detail::bits<6, 2>(load_u8(at + 8))),
                 .info_length = detail::bits<1, 7>(load_u8(at + 9)),
                 .reason = static_cast<RejectReason>(load_be16(at + 10)),
                 .info = detail::load_area<kMaxAdditionalInfo>(at + 12),
                 .private_data = detail::load_area<kRejPrivateData>(at + 84)};
  }

  void write(MutableBytes body) const {
    std::byte* at = detail::cleared(body);
    store_be32(at, local_comm_id.value());
    store_be32(at + 4, remote_comm_id.value());
    store_u8(at + 8, detail::placed<6, 2>(static_cast<unsigned>(message)));
    store_u8(at + 9, detail::placed<1, 7>(info_length));
    store_be16(at + 10, static_cast<std::uint16_t>(reason));
    detail::store_area(at + 12, info);
    detail::store_area(at + 84, private_data);
  }
};

}  // namespace weft::wire
