// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hca/types.h"
#include "host/queue_pair.h"
#include "host/spin_lock.h"

namespace weft::verbs {

// The list of work requests between ibv_wr_start() and ibv_wr_complete(). Memory is kept from one
// list to the next, so that a program in its stride allocates nothing.
class WorkBuilder {
 public:
  // Work requests of one list and inline bytes of one request that are accepted.
  WorkBuilder(std::uint32_t max_requests, std::uint32_t max_inline)
      : max_requests_(max_requests), max_inline_(max_inline) {}

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

  // Posts the list: zero, or a positive errno. Nothing is posted when describing it failed. When
  // the queue pair refuses a request, those before it stay posted, as with ibv_post_send().
  int complete(host::QueuePair& queue_pair);
  void abort() { lock_.unlock(); }

 private:
  struct Entry {
    hca::SendRequest request;
    std::size_t first_piece = 0;
    std::size_t piece_count = 0;
  };

  std::uint32_t max_requests_;
  std::uint32_t max_inline_;
  host::SpinLock lock_;
  int error_ = 0;
  std::vector<Entry> entries_;
  std::vector<hca::Sge> pieces_;  // an inline piece holds its offset in inline_bytes_
  std::vector<std::byte> inline_bytes_;
  std::size_t inline_in_entry_ = 0;
};

}  // namespace weft::verbs
