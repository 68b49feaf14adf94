// SPDX-License-Identifier: Apache-2.0
// The end of a connection: DREQ and DREP, IBA 12.6.10 and 12.6.11. Layouts as in cm_connect.h.
#pragma once

#include <optional>

#include "base/ids.h"
#include "wire/cm_field.h"

namespace weft::wire {

// 0-3 LocalCommID  4-7 RemoteCommID  8-10 RemoteQPN or RemoteEECN  12-231 PrivateData
struct CmDreq {
  static constexpr CmMessage kId = CmMessage::kDreq;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};
  CommId remote_comm_id{};
  Qpn remote_qpn{};  // of the receiver: so that an old message cannot end a new connection
  CmArea<kDreqPrivateData> private_data{};

  friend bool operator==(const CmDreq&, const CmDreq&) = default;

  [[nodiscard]] static std::optional<CmDreq> parse(Bytes body) {
    if (body.size() < kSize) return std::nullopt;
    const std::byte* at = body.data();
    return CmDreq{.local_comm_id = CommId{load_be32(at)},
                  .remote_comm_id = CommId{load_be32(at + 4)},
                  .remote_qpn = Qpn{load_be24(at + 8)},
                  .private_data = detail::load_area<kDreqPrivateData>(at + 12)};
  }

  void write(MutableBytes body) const {
    std::byte* at = detail::cleared(body);
    store_be32(at, local_comm_id.value());
    store_be32(at + 4, remote_comm_id.value());
    store_be24(at + 8, remote_qpn.value());
    detail::store_area(at + 12, private_data);
  }
};

// 0-3 LocalCommID  4-7 RemoteCommID  8-231 PrivateData
struct CmDrep {
  static constexpr CmMessage kId = CmMessage::kDrep;
  static constexpr std::size_t kSize = kCmBodySize;

  CommId local_comm_id{};
  CommId remote_comm_id{};
  CmArea<kDrepPrivateData> private_data{};

  friend bool operator==(const CmDrep&, const CmDrep&) = default;

  [[nodiscard]] static std::optional<CmDrep> parse(Bytes body) {
    if (body.size() < kSize) return std::nullopt;
    const std::byte* at = body.data();
    return CmDrep{.local_comm_id = CommId{load_be32(at)},
                  .remote_comm_id = CommId{load_be32(at + 4)},
                  .private_data = detail::load_area<kDrepPrivateData>(at + 8)};
  }

  void write(MutableBytes body) const {
    std::byte* at = detail::cleared(body);
    store_be32(at, local_comm_id.value());
    store_be32(at + 4, remote_comm_id.value());
    detail::store_area(at + 8, private_data);
  }
};

}  // namespace weft::wire
