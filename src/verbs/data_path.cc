// SPDX-License-Identifier: Apache-2.0
// Posting work requests. Translation happens on the stack: nothing here allocates or locks.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "io/clock.h"
#include "verbs/context_operations.h"

namespace weft::verbs {
namespace {

constexpr std::size_t kMaxPieces = host::DeviceLimits{}.max_sge;

// Room for the pieces of one request, left uninitialized until they are known.
class Pieces {
 public:
  Pieces() {}  // NOLINT(modernize-use-equals-default): defaulting would be deleting
  // Nothing for a count that the queue pair does not take: the list is not even read then.
  std::optional<std::span<const hca::Sge>> translate(const ibv_sge* list, int count,
                                                     std::size_t limit) {
    if (count < 0 || static_cast<std::size_t>(count) > std::min(limit, kMaxPieces)) {
      return std::nullopt;
    }
    const auto size = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < size; ++i) {
      std::construct_at(&pieces_[i], hca::Sge{list[i].addr, list[i].length, LKey{list[i].lkey}});
    }
    return std::span<const hca::Sge>(pieces_, size);
  }

 private:
  union {
    hca::Sge pieces_[kMaxPieces];
  };
};

constexpr unsigned kSendFlags =
    IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

int post_one(Qp& qp, const ibv_send_wr& from, Pieces& scratch) {
  hca::SendRequest to;
  switch (from.opcode) {
    case IBV_WR_SEND:
      to.opcode = hca::SendOpcode::kSend;
      break;
    case IBV_WR_SEND_WITH_IMM:
      to.opcode = hca::SendOpcode::kSendWithImmediate;
      break;
    default:
      return EINVAL;
  }
  if ((from.send_flags & ~kSendFlags) != 0) return EINVAL;
  const ibv_ah* const ah = from.wr.ud.ah;
  // IBA 10.2.2.2: an address handle serves the queue pairs of its own protection domain.
  if (ah == nullptr || ah->pd != qp.qp_base.pd) return EINVAL;
  const auto pieces =
      scratch.translate(from.sg_list, from.num_sge, qp.host->config().max_send_pieces);
  if (!pieces) return EINVAL;
  to.wr_id = from.wr_id;
  to.signaled = (from.send_flags & IBV_SEND_SIGNALED) != 0;
  to.solicited = (from.send_flags & IBV_SEND_SOLICITED) != 0;
  to.inline_data = (from.send_flags & IBV_SEND_INLINE) != 0;
  to.immediate = from.imm_data;
  to.path = &Ah::of(ah).path;
  to.remote_qpn = Qpn{from.wr.ud.remote_qpn};
  to.remote_qkey = QKey{from.wr.ud.remote_qkey};
  to.pieces = *pieces;
  return static_cast<int>(qp.host->post_send(to, from.next != nullptr));
}

int post_one(Qp& qp, const ibv_recv_wr& from, Pieces& scratch) {
  const auto pieces =
      scratch.translate(from.sg_list, from.num_sge, qp.host->config().max_receive_pieces);
  if (!pieces) return EINVAL;
  return static_cast<int>(qp.host->post_receive({from.wr_id, *pieces}));
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  Qp& pair = Qp::of(qp);
  Pieces scratch;
  for (ibv_send_wr* request = list; request != nullptr; request = request->next) {
    if (const int error = post_one(pair, *request, scratch)) {
      if (bad != nullptr) *bad = request;
      // The requests before this one were told that more would follow.
      if (request != list) pair.host->flush(io::now());
      return error;
    }
  }
  return 0;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad) {
  Qp& pair = Qp::of(qp);
  Pieces scratch;
  for (ibv_recv_wr* request = list; request != nullptr; request = request->next) {
    if (const int error = post_one(pair, *request, scratch)) {
      if (bad != nullptr) *bad = request;
      return error;
    }
  }
  return 0;
}

}  // namespace weft::verbs
