// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include "hca/types.h"
#include "input.h"

namespace weft::fuzz {

// Completions come in the order of posting, each at most once, and none is left out that was asked
// for. Receives and sends are told apart by wr_id, which errors bring too.
class Ledger final : public hca::CompletionSink {
 public:
  // A request that is about to be posted; `must`: it completes even when it succeeds.
  void post(std::uint64_t wr_id, bool must) { open_.push_back({wr_id, must}); }
  // The one that was posted last was not accepted.
  void refused() { open_.pop_back(); }
  void complete(const hca::Completion& completion) override {
    const bool success = completion.status == hca::CompletionStatus::kSuccess;
    require(!failed_ || !success);
    while (!open_.empty() && open_.front().wr_id != completion.wr_id) {
      require(!open_.front().must && !failed_);  // those before it succeeded silently
      open_.pop_front();
    }
    failed_ = failed_ || !success;
    require(!open_.empty());
    open_.pop_front();
  }
  void forget() {
    open_.clear();
    failed_ = false;
  }
  // A queue that stops at an error and goes on later (SQE).
  void recovered() { failed_ = false; }
  [[nodiscard]] bool settled() const {
    for (const Open& open : open_) {
      if (open.must) return false;
    }
    return true;
  }

 private:
  struct Open {
    std::uint64_t wr_id;
    bool must;
  };
  std::deque<Open> open_;
  bool failed_ = false;
};

}  // namespace weft::fuzz
