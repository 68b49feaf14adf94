// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "hca/arrivals.h"
#include "hca/credit.h"

namespace weft::hca {

// The receiving half of an unreliable connection between Weft peers: when its one sender is to be
// given a credit, and how much.
class UcGranter {
 public:
  // The first packet is expected to carry `first`; forgets everything else.
  void start(Psn first) { *this = UcGranter(first); }
  UcGranter() = default;

  // A packet arrived.
  void arrived(Psn psn, bool asks);
  // A receive request was posted, so that `waiting` are.
  void posted(std::size_t waiting);

  // A credit is to be sent.
  [[nodiscard]] bool due() const { return due_; }
  // It could not be sent.
  void take_back() { due_ = true; }
  // What it says, given the receive requests that wait and the cost that the port can hold.
  Credit grant(std::size_t waiting, std::uint32_t bytes);
  // The sender may wait for receive requests: posted() is to be called.
  [[nodiscard]] bool scarce() const { return scarce_; }

  [[nodiscard]] std::uint32_t lost() const { return arrivals_.lost(); }

 private:
  explicit UcGranter(Psn first) : arrivals_(first - 1) {}
  [[nodiscard]] bool few(std::size_t waiting) const { return waiting < most_receives_ / 4; }

  Arrivals arrivals_;
  bool due_ = false;
  bool scarce_ = false;            // was granted little because few receives were posted,
  bool starving_ = false;          // or nothing at all
  std::size_t most_receives_ = 0;  // that were seen to wait at once
};

}  // namespace weft::hca
