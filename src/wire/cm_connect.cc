// SPDX-License-Identifier: Apache-2.0
#include "wire/cm_connect.h"

namespace weft::wire {

using detail::bits;
using detail::placed;

std::optional<CmReq> CmReq::parse(Bytes body) {
  if (body.size() < kSize) return std::nullopt;
  const std::byte* at = body.data();
  CmReq req{.local_comm_id = CommId{load_be32(at)},
            .service_id = ServiceId{load_be64(at + 8)},
            .local_ca_guid = Guid{load_be64(at + 16)},
            .local_qkey = QKey{load_be32(at + 28)},
            .local_qpn = Qpn{load_be24(at + 32)},
            .responder_resources = load_u8(at + 35),
            .local_eecn = load_be24(at + 36),
            .initiator_depth = load_u8(at + 39),
            .remote_eecn = load_be24(at + 40),
            .starting_psn = Psn{load_be24(at + 44)},
            .pkey = PKey{load_be16(at + 48)},
            .primary = CmPath::load(at + 52),
            .alternate = CmPath::load(at + 52 + CmPath::kSize),
            .private_data = detail::load_area<kReqPrivateData>(at + 140)};
  const std::uint8_t service = load_u8(at + 43);
  req.remote_cm_timeout = bits<3, 5>(service);
  req.transport = static_cast<CmTransport>(bits<1, 2>(service));
  req.flow_control = bits<0, 1>(service) != 0;
  const std::uint8_t retries = load_u8(at + 47);
  req.local_cm_timeout = bits<3, 5>(retries);
  req.retry_count = bits<0, 3>(retries);
  const std::uint8_t mtu = load_u8(at + 50);
  req.path_mtu = bits<4, 4>(mtu);
  req.rdc_exists = bits<3, 1>(mtu) != 0;
  req.rnr_retry = bits<0, 3>(mtu);
  const std::uint8_t last = load_u8(at + 51);
  req.max_cm_retries = bits<4, 4>(last);
  req.srq = bits<3, 1>(last) != 0;
  req.extended_transport = bits<0, 3>(last);
  return req;
}

void CmReq::write(MutableBytes body) const {
  std::byte* at = detail::cleared(body);
  store_be32(at, local_comm_id.value());
  store_be64(at + 8, service_id.value());
  store_be64(at + 16, local_ca_guid.value());
  store_be32(at + 28, local_qkey.value());
  store_be24(at + 32, local_qpn.value());
  store_u8(at + 35, responder_resources);
  store_be24(at + 36, local_eecn);
  store_u8(at + 39, initiator_depth);
  store_be24(at + 40, remote_eecn);
  store_u8(at + 43, static_cast<std::uint8_t>(placed<3, 5>(remote_cm_timeout) |
                                              placed<1, 2>(static_cast<unsigned>(transport)) |
                                              placed<0, 1>(flow_control)));
  store_be24(at + 44, starting_psn.value());
  store_u8(at + 47,
           static_cast<std::uint8_t>(placed<3, 5>(local_cm_timeout) | placed<0, 3>(retry_count)));
  store_be16(at + 48, pkey.value());
  store_u8(at + 50, static_cast<std::uint8_t>(placed<4, 4>(path_mtu) | placed<3, 1>(rdc_exists) |
                                              placed<0, 3>(rnr_retry)));
  store_u8(at + 51, static_cast<std::uint8_t>(placed<4, 4>(max_cm_retries) | placed<3, 1>(srq) |
                                              placed<0, 3>(extended_transport)));
  primary.store(at + 52);
  alternate.store(at + 52 + CmPath::kSize);
  detail::store_area(at + 140, private_data);
}

std::optional<CmRep> CmRep::parse(Bytes body) {
  if (body.size() < kSize) return std::nullopt;
  const std::byte* at = body.data();
  const std::uint8_t delay = load_u8(at + 26);
  const std::uint8_t retry = load_u8(at + 27);
  return CmRep{.local_comm_id = CommId{load_be32(at)},
               .remote_comm_id = CommId{load_be32(at + 4)},
               .local_qkey = QKey{load_be32(at + 8)},
               .local_qpn = Qpn{load_be24(at + 12)},
               .local_eecn = load_be24(at + 16),
               .starting_psn = Psn{load_be24(at + 20)},
               .responder_resources = load_u8(at + 24),
               .initiator_depth = load_u8(at + 25),
               .target_ack_delay = bits<3, 5>(delay),
               .failover_accepted = bits<1, 2>(delay),
               .flow_control = bits<0, 1>(delay) != 0,
               .rnr_retry = bits<5, 3>(retry),
               .srq = bits<4, 1>(retry) != 0,
               .local_ca_guid = Guid{load_be64(at + 28)},
               .private_data = detail::load_area<kRepPrivateData>(at + 36)};
}

void CmRep::write(MutableBytes body) const {
  std::byte* at = detail::cleared(body);
  store_be32(at, local_comm_id.value());
  store_be32(at + 4, remote_comm_id.value());
  store_be32(at + 8, local_qkey.value());
  store_be24(at + 12, local_qpn.value());
  store_be24(at + 16, local_eecn);
  store_be24(at + 20, starting_psn.value());
  store_u8(at + 24, responder_resources);
  store_u8(at + 25, initiator_depth);
  store_u8(at + 26,
           static_cast<std::uint8_t>(placed<3, 5>(target_ack_delay) |
                                     placed<1, 2>(failover_accepted) | placed<0, 1>(flow_control)));
  store_u8(at + 27, static_cast<std::uint8_t>(placed<5, 3>(rnr_retry) | placed<4, 1>(srq)));
  store_be64(at + 28, local_ca_guid.value());
  detail::store_area(at + 36, private_data);
}

std::optional<CmRtu> CmRtu::parse(Bytes body) {
  if (body.size() < kSize) return std::nullopt;
  const std::byte* at = body.data();
  return CmRtu{.local_comm_id = CommId{load_be32(at)},
               .remote_comm_id = CommId{load_be32(at + 4)},
               .private_data = detail::load_area<kRtuPrivateData>(at + 8)};
}

void CmRtu::write(MutableBytes body) const {
  std::byte* at = detail::cleared(body);
  store_be32(at, local_comm_id.value());
  store_be32(at + 4, remote_comm_id.value());
  detail::store_area(at + 8, private_data);
}

}  // namespace weft::wire
