// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/spin_lock.h"
#include "hca/types.h"
#include "host/queue_pair.h"
#include "verbs/abi.h"

namespace weft::verbs {

// The list of work requests between ibv_wr_start() and ibv_wr_complete(). Memory is kept from one
// list to the next, so that a program in its stride allocates nothing.
class WorkBuilder {
 public:
  // What a queue pair of these capabilities takes is accepted.
  explicit WorkBuilder(const ibv_qp_cap& capabilities) : capabilities_(capabilities) {}

  void start();  // takes the lock that complete() or abort() gives back
  // Opens the next request; what follows describes it.
  void open(const hca::SendRequest& request);
  // `path` must outlive complete(); address handles do.
  void set_destination(const hca::Path& path, Qpn qpn, QKey qkey);
  void set_remote_srq(Qpn number);
  void add_piece(const hca::Sge& piece);
  void add_inline(std::span<const std::byte> bytes);  // copied now
  // The first thing that went wrong decides what complete() returns.
  void refuse(int error_number) {
    if (error_ == 0) error_ = error_number;
  }

  // Posts the list: zero, or a positive errno, and then nothing is posted: describing it failed, or
  // the queue has no room for all of it (ENOMEM).
  int complete(host::QueuePair& queue_pair);
  void abort() { lock_.unlock(); }

 private:
  struct PieceRange {
    std::size_t first = 0;
    std::size_t count = 0;
  };

  ibv_qp_cap capabilities_;
  SpinLock lock_;
  int error_ = 0;
  std::vector<hca::SendRequest> requests_;
  std::vector<PieceRange> ranges_;  // of each request in pieces_
  std::vector<hca::Sge> pieces_;    // an inline piece holds its offset in inline_bytes_
  std::vector<std::byte> inline_bytes_;
  std::size_t inline_in_request_ = 0;
};

}  // namespace weft::verbs
