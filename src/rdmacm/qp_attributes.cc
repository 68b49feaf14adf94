// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/qp_attributes.h"

#include <algorithm>
#include <array>

#include "hca/qp_state.h"
#include "rdmacm/path_record.h"

namespace weft::rdmacm {
namespace {

struct Bit {
  std::uint32_t ours;
  std::uint32_t theirs;  // enum ibv_qp_attr_mask
};
constexpr std::array<Bit, 19> kBits{{{hca::kAttrState, kQpState},
                                     {hca::kAttrCurrentState, 1u << 1},
                                     {hca::kAttrSqdNotify, 1u << 2},
                                     {hca::kAttrAccess, kQpAccessFlags},
                                     {hca::kAttrPKeyIndex, kQpPKeyIndex},
                                     {hca::kAttrPort, kQpPort},
                                     {hca::kAttrQKey, kQpQKey},
                                     {hca::kAttrPath, 1u << 7},
                                     {hca::kAttrPathMtu, 1u << 8},
                                     {hca::kAttrAckTimeout, 1u << 9},
                                     {hca::kAttrRetryCount, 1u << 10},
                                     {hca::kAttrRnrRetry, 1u << 11},
                                     {hca::kAttrRqPsn, 1u << 12},
                                     {hca::kAttrMaxReadsOut, 1u << 13},
                                     {hca::kAttrAlternatePath, 1u << 14},
                                     {hca::kAttrRnrTimer, 1u << 15},
                                     {hca::kAttrSqPsn, 1u << 16},
                                     {hca::kAttrMaxReadsIn, 1u << 17},
                                     {hca::kAttrPathMigration, 1u << 18}}};
constexpr std::uint32_t kDestinationQpn = 1u << 20;

}  // namespace

ib_uverbs_ah_attr ah_attributes(const hca::Path& path, std::uint8_t port) {
  ib_uverbs_ah_attr out{};
  std::copy(path.dgid.bytes().begin(), path.dgid.bytes().end(), out.grh.dgid);
  out.grh.flow_label = path.flow_label;
  out.grh.sgid_index = path.sgid_index;
  out.grh.hop_limit = path.hop_limit;
  out.grh.traffic_class = path.traffic_class;
  out.dlid = path.dlid.value();
  out.sl = path.sl.value();
  out.src_path_bits = path.source_path_bits;
  out.static_rate = path.static_rate;
  out.is_global = path.global ? 1 : 0;
  out.port_num = port;
  return out;
}

ib_uverbs_qp_attr qp_attributes(const mgmt::QpTransition& transition, std::uint8_t port) {
  const hca::QpAttributes& from = transition.attributes;
  ib_uverbs_qp_attr out{};
  for (const Bit& bit : kBits) {
    if ((transition.mask & bit.ours) != 0) out.qp_attr_mask |= bit.theirs;
  }
  if ((transition.mask & hca::kAttrPeer) != 0) out.qp_attr_mask |= kDestinationQpn;
  out.qp_state = static_cast<std::uint32_t>(from.state);
  out.cur_qp_state = static_cast<std::uint32_t>(from.current_state);
  out.path_mtu = mtu_code(from.path_mtu);
  out.path_mig_state = static_cast<std::uint32_t>(from.migration);
  out.qkey = from.qkey.value();
  out.rq_psn = from.rq_psn.value();
  out.sq_psn = from.sq_psn.value();
  out.dest_qp_num = from.peer.value();
  constexpr std::uint32_t kRemote = hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic;
  out.qp_access_flags = from.access & kRemote;
  out.ah_attr = ah_attributes(from.path, port);
  out.alt_ah_attr = ah_attributes(from.alternate_path, port);
  out.pkey_index = from.pkey_index;
  out.alt_pkey_index = from.alternate_pkey_index;
  out.max_rd_atomic = from.max_reads_out;
  out.max_dest_rd_atomic = from.max_reads_in;
  out.min_rnr_timer = from.rnr_timer;
  out.port_num = port;
  out.timeout = from.ack_timeout;
  out.retry_cnt = from.retry_count;
  out.rnr_retry = from.rnr_retry;
  out.alt_port_num = port;
  out.alt_timeout = from.alternate_ack_timeout;
  return out;
}

}  // namespace weft::rdmacm
