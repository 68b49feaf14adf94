// SPDX-License-Identifier: Apache-2.0
// What the targets of connection managers have in common: a network between two hosts, which does
// nothing by itself with what is under way.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "hca/types.h"
#include "mgmt/mad_sink.h"

namespace weft::fuzz {

inline Gid address(unsigned host) {
  return Gid::from_ipv4(0x0A00'0000 + host);
}

struct InFlight {
  hca::Path to;  // as its sender sees it
  std::array<std::byte, mgmt::kMadSize> mad{};

  [[nodiscard]] hca::Path back() const { return {.sgid = to.dgid, .dgid = to.sgid}; }
};

class Network final : public mgmt::MadSink {
 public:
  // What is sent beyond that is lost.
  static constexpr std::size_t kMost = 64;

  void send(const hca::Path& to, PKey, std::span<const std::byte, mgmt::kMadSize> mad) override {
    if (under_way_.size() == kMost) return;
    std::copy(mad.begin(), mad.end(), under_way_.emplace_back(InFlight{.to = to}).mad.begin());
  }
  [[nodiscard]] bool empty() const { return under_way_.empty(); }
  [[nodiscard]] std::size_t size() const { return under_way_.size(); }
  // 0 is the oldest. `again`: it stays under way, to arrive once more.
  InFlight take(std::size_t which, bool again = false) {
    const InFlight one = under_way_[which];
    if (!again) under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
    return one;
  }
  void clear() { under_way_.clear(); }

 private:
  std::vector<InFlight> under_way_;
};

}  // namespace weft::fuzz
