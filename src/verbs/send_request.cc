// SPDX-License-Identifier: Apache-2.0
#include "verbs/send_request.h"

#include <endian.h>

#include "verbs/memory_window.h"
#include "verbs/raw_packet.h"

namespace weft::verbs {
namespace {

constexpr unsigned kSendFlags =
    IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

bool describe_datagram(const ibv_qp& qp, const ibv_send_wr& from, hca::SendRequest& to) {
  const ibv_ah* const ah = from.wr.ud.ah;
  // IBA 10.2.2.2: an address handle serves the queue pairs of its own protection domain.
  if (ah == nullptr || !same_domain(*ah->pd, *qp.pd)) return false;
  to.path = &Ah::of(ah).path;
  to.remote_qpn = Qpn{from.wr.ud.remote_qpn};
  to.remote_qkey = QKey{from.wr.ud.remote_qkey};
  return true;
}

void describe_rdma(const ibv_send_wr& from, hca::SendRequest& to) {
  to.remote_address = from.wr.rdma.remote_addr;
  to.rkey = RKey{from.wr.rdma.rkey};
}

void describe_atomic(const ibv_send_wr& from, hca::SendRequest& to) {
  to.remote_address = from.wr.atomic.remote_addr;
  to.rkey = RKey{from.wr.atomic.rkey};
  to.compare_add = from.wr.atomic.compare_add;
  to.swap = from.wr.atomic.swap;
}

// A bind by work request is for windows of type 2 (IBA 10.6.7.2.2).
bool describe_bind(const ibv_send_wr& from, hca::SendRequest& to) {
  const ibv_mw* const window = from.bind_mw.mw;
  if (window == nullptr || window->type != IBV_MW_TYPE_2) return false;
  const auto binding = binding_of(*window, from.bind_mw.bind_info);
  if (!binding) return false;
  to.bind = *binding;
  to.bind.new_key = RKey{from.bind_mw.rkey};
  return true;
}

// A whole packet, as it is or with another P_Key.
bool describe_packet(const ibv_send_wr& from, hca::SendRequest& to) {
  if (from.opcode == IBV_WR_SEND) return true;
  if (from.opcode != WEFT_WR_SEND_PKEY) return false;
  to.pkey = PKey{static_cast<std::uint16_t>(be32toh(from.imm_data))};
  return true;
}

bool describe_operation(const ibv_send_wr& from, hca::SendRequest& to) {
  switch (from.opcode) {
    case IBV_WR_SEND:
      to.opcode = hca::SendOpcode::kSend;
      return true;
    case IBV_WR_SEND_WITH_IMM:
      to.opcode = hca::SendOpcode::kSendWithImmediate;
      return true;
    case IBV_WR_SEND_WITH_INV:
      to.opcode = hca::SendOpcode::kSendWithInvalidate;
      to.invalidate = RKey{from.invalidate_rkey};
      return true;
    case IBV_WR_RDMA_WRITE:
      to.opcode = hca::SendOpcode::kRdmaWrite;
      describe_rdma(from, to);
      return true;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      to.opcode = hca::SendOpcode::kRdmaWriteWithImmediate;
      describe_rdma(from, to);
      return true;
    case IBV_WR_RDMA_READ:
      to.opcode = hca::SendOpcode::kRdmaRead;
      describe_rdma(from, to);
      return true;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      to.opcode = hca::SendOpcode::kCompareSwap;
      describe_atomic(from, to);
      return true;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      to.opcode = hca::SendOpcode::kFetchAdd;
      describe_atomic(from, to);
      return true;
    case IBV_WR_LOCAL_INV:
      to.opcode = hca::SendOpcode::kLocalInvalidate;
      to.invalidate = RKey{from.invalidate_rkey};
      return true;
    case IBV_WR_BIND_MW:
      to.opcode = hca::SendOpcode::kBindWindow;
      return describe_bind(from, to);
    default:
      return false;
  }
}

}  // namespace

bool describe(const Qp& qp, const ibv_send_wr& from, hca::SendRequest& to) {
  if ((from.send_flags & ~kSendFlags) != 0) return false;
  const bool raw = qp.qp_base.qp_type == IBV_QPT_RAW_PACKET;
  if (!(raw ? describe_packet(from, to) : describe_operation(from, to))) return false;
  to.wr_id = from.wr_id;
  to.signaled = (from.send_flags & IBV_SEND_SIGNALED) != 0;
  to.solicited = (from.send_flags & IBV_SEND_SOLICITED) != 0;
  to.inline_data = (from.send_flags & IBV_SEND_INLINE) != 0;
  to.fence = (from.send_flags & IBV_SEND_FENCE) != 0;
  to.immediate = from.imm_data;
  if (qp.qp_base.qp_type == IBV_QPT_UD) {
    const bool sends = from.opcode == IBV_WR_SEND || from.opcode == IBV_WR_SEND_WITH_IMM;
    return sends && describe_datagram(qp.qp_base, from, to);
  }
  if (qp.qp_base.qp_type == IBV_QPT_XRC_SEND) to.remote_srq = Qpn{from.qp_type.xrc.remote_srqn};
  return true;
}

}  // namespace weft::verbs
