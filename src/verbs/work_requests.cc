// SPDX-License-Identifier: Apache-2.0
// The work request interface of ibv_qp_ex: each call adds to the queue pair's builder.
#include <cstddef>
#include <optional>
#include <span>

#include "verbs/errno_keeper.h"
#include "verbs/memory_window.h"
#include "verbs/queue_pair.h"

namespace weft::verbs {
namespace {

WorkBuilder& builder(ibv_qp_ex* qp) {
  return *Qp::of(qp).builder;
}

void open_request(ibv_qp_ex* qp, hca::SendOpcode opcode, hca::SendRequest request = {}) {
  request.wr_id = qp->wr_id;
  request.opcode = opcode;
  request.signaled = (qp->wr_flags & IBV_SEND_SIGNALED) != 0;
  request.solicited = (qp->wr_flags & IBV_SEND_SOLICITED) != 0;
  request.fence = (qp->wr_flags & IBV_SEND_FENCE) != 0;
  builder(qp).open(request);
}

void wr_start(ibv_qp_ex* qp) {
  builder(qp).start();
}
int wr_complete(ibv_qp_ex* qp) {
  const ErrnoKeeper keeper;
  return builder(qp).complete(*Qp::of(qp).host);
}
void wr_abort(ibv_qp_ex* qp) {
  builder(qp).abort();
}

hca::SendRequest with_immediate(__be32 immediate) {
  hca::SendRequest request;
  request.immediate = immediate;
  return request;
}
hca::SendRequest with_invalidate(std::uint32_t key) {
  hca::SendRequest request;
  request.invalidate = RKey{key};
  return request;
}
hca::SendRequest at(std::uint32_t key, std::uint64_t address) {
  hca::SendRequest request;
  request.remote_address = address;
  request.rkey = RKey{key};
  return request;
}

void wr_send(ibv_qp_ex* qp) {
  open_request(qp, hca::SendOpcode::kSend);
}
void wr_send_imm(ibv_qp_ex* qp, __be32 immediate) {
  open_request(qp, hca::SendOpcode::kSendWithImmediate, with_immediate(immediate));
}
void wr_send_inv(ibv_qp_ex* qp, std::uint32_t key) {
  open_request(qp, hca::SendOpcode::kSendWithInvalidate, with_invalidate(key));
}

void wr_rdma_write(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address) {
  open_request(qp, hca::SendOpcode::kRdmaWrite, at(key, address));
}
void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, __be32 immediate) {
  hca::SendRequest request = at(key, address);
  request.immediate = immediate;
  open_request(qp, hca::SendOpcode::kRdmaWriteWithImmediate, request);
}
void wr_rdma_read(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address) {
  open_request(qp, hca::SendOpcode::kRdmaRead, at(key, address));
}
void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address,
                       std::uint64_t compare, std::uint64_t swap) {
  hca::SendRequest request = at(key, address);
  request.compare_add = compare;
  request.swap = swap;
  open_request(qp, hca::SendOpcode::kCompareSwap, request);
}
void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address,
                         std::uint64_t add) {
  hca::SendRequest request = at(key, address);
  request.compare_add = add;
  open_request(qp, hca::SendOpcode::kFetchAdd, request);
}

void wr_local_inv(ibv_qp_ex* qp, std::uint32_t key) {
  open_request(qp, hca::SendOpcode::kLocalInvalidate, with_invalidate(key));
}
// As in a list of ibv_post_send(): windows of type 2 only.
void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t key, const ibv_mw_bind_info* info) {
  const auto binding =
      mw != nullptr && mw->type == IBV_MW_TYPE_2 ? binding_of(*mw, *info) : std::nullopt;
  if (!binding) return builder(qp).refuse(EINVAL);
  hca::SendRequest request;
  request.bind = *binding;
  request.bind.new_key = RKey{key};
  open_request(qp, hca::SendOpcode::kBindWindow, request);
}

void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t number) {
  builder(qp).set_remote_srq(Qpn{number});
}

void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  if (ah == nullptr || !same_domain(*ah->pd, *qp->qp_base.pd)) return builder(qp).refuse(EINVAL);
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

// For what was not asked for at creation. verbs.h calls through the pointer without a look.
template <class... Arguments>
void not_supported(ibv_qp_ex* qp, Arguments...) {
  builder(qp).refuse(EOPNOTSUPP);
}

// The one that has the signature of `function`.
template <class... Arguments>
auto refusal(void (*)(ibv_qp_ex*, Arguments...)) {
  return &not_supported<Arguments...>;
}

constexpr std::uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
constexpr std::uint64_t kWrites = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
constexpr std::uint64_t kWindows = IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
constexpr std::uint64_t kReads = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

}  // namespace

std::uint64_t send_operations(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UD:
      return kSends;
    case IBV_QPT_RAW_PACKET:
      return IBV_QP_EX_WITH_SEND;
    case IBV_QPT_UC:
      return kSends | kWrites | kWindows;
    case IBV_QPT_RC:
    case IBV_QPT_XRC_SEND:
      return kSends | kWrites | kWindows | kReads | IBV_QP_EX_WITH_SEND_WITH_INV;
    default:
      return 0;
  }
}

void install_work_requests(Qp& qp, std::uint64_t operations) {
  // `function` if the program asked for `operation`.
  const auto choose = [operations]<class... Arguments>(std::uint64_t operation,
                                                       void (*function)(Arguments...)) {
    return (operations & operation) != 0 ? function : refusal(function);
  };
  qp.wr_start = wr_start;
  qp.wr_complete = wr_complete;
  qp.wr_abort = wr_abort;
  qp.wr_send = choose(IBV_QP_EX_WITH_SEND, wr_send);
  qp.wr_send_imm = choose(IBV_QP_EX_WITH_SEND_WITH_IMM, wr_send_imm);
  qp.wr_send_inv = choose(IBV_QP_EX_WITH_SEND_WITH_INV, wr_send_inv);
  qp.wr_rdma_write = choose(IBV_QP_EX_WITH_RDMA_WRITE, wr_rdma_write);
  qp.wr_rdma_write_imm = choose(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, wr_rdma_write_imm);
  qp.wr_rdma_read = choose(IBV_QP_EX_WITH_RDMA_READ, wr_rdma_read);
  qp.wr_atomic_cmp_swp = choose(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp);
  qp.wr_atomic_fetch_add = choose(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add);
  qp.wr_local_inv = choose(IBV_QP_EX_WITH_LOCAL_INV, wr_local_inv);
  qp.wr_bind_mw = choose(IBV_QP_EX_WITH_BIND_MW, wr_bind_mw);
  qp.wr_atomic_write = not_supported;
  qp.wr_send_tso = not_supported;

  const ibv_qp_type type = qp.qp_base.qp_type;
  qp.wr_set_ud_addr = type == IBV_QPT_UD ? wr_set_ud_addr : refusal(wr_set_ud_addr);
  qp.wr_set_xrc_srqn = type == IBV_QPT_XRC_SEND ? wr_set_xrc_srqn : refusal(wr_set_xrc_srqn);
  qp.wr_set_sge = wr_set_sge;
  qp.wr_set_sge_list = wr_set_sge_list;
  qp.wr_set_inline_data = wr_set_inline_data;
  qp.wr_set_inline_data_list = wr_set_inline_data_list;
}

}  // namespace weft::verbs
