// SPDX-License-Identifier: Apache-2.0
// Posting work requests. Translation happens on the stack: nothing here allocates or locks.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "io/clock.h"
#include "verbs/context_operations.h"
#include "verbs/errno_keeper.h"
#include "verbs/send_request.h"

namespace weft::verbs {
namespace {

constexpr std::size_t kMaxPieces = host::DeviceLimits{}.max_sge;

// Room for the pieces of one request, left uninitialized until they are known.
class Pieces {
 public:
  Pieces() {}  // NOLINT(modernize-use-equals-default): defaulting would be deleting
  // False for a count that the queue does not take: the list is not even read then. Else all() are
  // the pieces; made where they are used, for a span that is copied just after it was made in two
  // halves costs a short message a fiftieth of its time.
  bool translate(const ibv_sge* list, int count, std::size_t limit) {
    if (count < 0 || static_cast<std::size_t>(count) > std::min(limit, kMaxPieces)) return false;
    const auto size = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < size; ++i) {
      std::construct_at(&pieces_[i], hca::Sge{list[i].addr, list[i].length, LKey{list[i].lkey}});
    }
    return true;
  }
  [[nodiscard]] const hca::Sge* all() const { return pieces_; }

 private:
  union {
    hca::Sge pieces_[kMaxPieces];
  };
};

bool has_pieces(hca::SendOpcode opcode) {
  return opcode != hca::SendOpcode::kLocalInvalidate && opcode != hca::SendOpcode::kBindWindow;
}

int post_one(Qp& qp, const ibv_send_wr& from, Pieces& scratch) {
  hca::SendRequest to;
  if (!describe(qp, from, to)) return EINVAL;
  if (has_pieces(to.opcode)) {
    if (!scratch.translate(from.sg_list, from.num_sge, qp.capabilities.max_send_sge)) {
      return EINVAL;
    }
    to.pieces = {scratch.all(), static_cast<std::size_t>(from.num_sge)};
  }
  return static_cast<int>(qp.host->post_send(to, from.next != nullptr));
}

// `Queue` is the receive queue of a queue pair, or a shared one.
template <class Queue>
int post_receives(Queue& queue, std::size_t max_pieces, ibv_recv_wr* list, ibv_recv_wr** bad,
                  std::errc (Queue::*post)(const hca::ReceiveRequest&)) {
  Pieces scratch;
  for (ibv_recv_wr* request = list; request != nullptr; request = request->next) {
    auto error = std::errc::invalid_argument;
    if (scratch.translate(request->sg_list, request->num_sge, max_pieces)) {
      const auto count = static_cast<std::size_t>(request->num_sge);
      error = (queue.*post)({request->wr_id, {scratch.all(), count}});
    }
    if (error != std::errc{}) {
      if (bad != nullptr) *bad = request;
      return static_cast<int>(error);
    }
  }
  return 0;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  const ErrnoKeeper keeper;
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
  const ErrnoKeeper keeper;
  Qp& pair = Qp::of(qp);
  return post_receives(*pair.host, pair.capabilities.max_recv_sge, list, bad,
                       &host::QueuePair::post_receive);
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad) {
  const ErrnoKeeper keeper;
  Srq& queue = Srq::of(srq);
  return post_receives(*queue.host, queue.max_pieces, list, bad, &host::SharedReceiveQueue::post);
}

}  // namespace weft::verbs
