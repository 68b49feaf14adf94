// SPDX-License-Identifier: Apache-2.0
// The work request interface of ibv_qp_ex: each call adds to the queue pair's builder.
#include <cstddef>
#include <span>

#include "verbs/queue_pair.h"

namespace weft::verbs {
namespace {

WorkBuilder& builder(ibv_qp_ex* qp) {
  return *Qp::of(qp).builder;
}

void open(ibv_qp_ex* qp, hca::SendOpcode opcode, __be32 immediate) {
  hca::SendRequest request;
  request.wr_id = qp->wr_id;
  request.opcode = opcode;
  request.signaled = (qp->wr_flags & IBV_SEND_SIGNALED) != 0;
  request.solicited = (qp->wr_flags & IBV_SEND_SOLICITED) != 0;
  request.immediate = immediate;
  builder(qp).open(request);
}

void wr_start(ibv_qp_ex* qp) {
  builder(qp).start();
}
int wr_complete(ibv_qp_ex* qp) {
  return builder(qp).complete(*Qp::of(qp).host);
}
void wr_abort(ibv_qp_ex* qp) {
  builder(qp).abort();
}

void wr_send(ibv_qp_ex* qp) {
  open(qp, hca::SendOpcode::kSend, 0);
}
void wr_send_imm(ibv_qp_ex* qp, __be32 immediate) {
  open(qp, hca::SendOpcode::kSendWithImmediate, immediate);
}

void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  if (ah == nullptr || ah->pd != qp->qp_base.pd) return builder(qp).refuse(EINVAL);
  builder(qp).set_destination(Ah::of(ah).path, Qpn{qpn}, QKey{qkey});
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  builder(qp).add_piece({address, length, LKey{lkey}});
}

void wr_set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  if (count > Qp::of(qp).capabilities.max_send_sge) return builder(qp).refuse(EINVAL);
  for (const ibv_sge& sge : std::span(list, count)) {
    builder(qp).add_piece({sge.addr, sge.length, LKey{sge.lkey}});
  }
}

void wr_set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
  builder(qp).add_inline({static_cast<const std::byte*>(address), length});
}

void wr_set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) {
  for (const ibv_data_buf& buffer : std::span(list, count)) {
    builder(qp).add_inline({static_cast<const std::byte*>(buffer.addr), buffer.length});
  }
}

// For what a datagram queue pair does not do. verbs.h calls through the pointer without a look.
template <class... Arguments>
void not_supported(ibv_qp_ex* qp, Arguments...) {
  builder(qp).refuse(EOPNOTSUPP);
}

}  // namespace

void install_work_requests(Qp& qp) {
  qp.wr_start = wr_start;
  qp.wr_complete = wr_complete;
  qp.wr_abort = wr_abort;
  qp.wr_send = wr_send;
  qp.wr_send_imm = wr_send_imm;
  qp.wr_set_ud_addr = wr_set_ud_addr;
  qp.wr_set_sge = wr_set_sge;
  qp.wr_set_sge_list = wr_set_sge_list;
  qp.wr_set_inline_data = wr_set_inline_data;
  qp.wr_set_inline_data_list = wr_set_inline_data_list;

  qp.wr_atomic_cmp_swp = not_supported;
  qp.wr_atomic_fetch_add = not_supported;
  qp.wr_atomic_write = not_supported;
  qp.wr_bind_mw = not_supported;
  qp.wr_local_inv = not_supported;
  qp.wr_rdma_read = not_supported;
  qp.wr_rdma_write = not_supported;
  qp.wr_rdma_write_imm = not_supported;
  qp.wr_send_inv = not_supported;
  qp.wr_send_tso = not_supported;
  qp.wr_set_xrc_srqn = not_supported;
}

}  // namespace weft::verbs
