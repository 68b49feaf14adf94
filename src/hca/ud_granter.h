// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/ids.h"
#include "base/lru_map.h"
#include "base/time.h"
#include "hca/arrivals.h"
#include "hca/credit.h"
#include "hca/credit_pacer.h"

namespace weft::hca {

// A flow's other end.
struct FlowKey {
  Gid peer{};
  Qpn qpn{};
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const noexcept {
    return std::hash<Gid>{}(key.peer) * 31 + key.qpn.value();
  }
};

// The receiving half of a queue pair: what it grants to each of its flows. A flow's share is an
// equal part of the whole, but never so much that all that was granted, and may still come, is more
// than the whole: a newcomer waits until the others have heard of their smaller shares. After a
// silence nobody gets more than the initial window for kSettle, and then at most twice as much from
// one credit to the next: of many that begin together the first must not get what the others, still
// unheard of, are using.
class UdGranter {
 public:
  static constexpr std::size_t kMaxFlows = 1024;  // beyond: the longest silent is forgotten
  static constexpr Duration kActive = 10ms;       // a flow counts as active for so long
  static constexpr Duration kSettle = 1ms;        // news of a share has reached its sender by then
  static_assert(CreditPacer::kIdle < kActive, "a sender forgets a credit before its receiver does");

  // A packet of `bytes` (BTH to ICRC) arrived.
  void arrived(const FlowKey& flow, Psn psn, Time now, std::uint32_t bytes = 0);
  // The credit to send to `flow`, given what the whole queue pair can take: receive requests that
  // are posted and cost of datagrams. Nothing for a flow that is unknown or forgotten.
  [[nodiscard]] std::optional<Credit> grant(const FlowKey& flow, std::uint32_t receives,
                                            std::uint32_t bytes, Time now);
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }
  void clear() { flows_.clear(); }

 private:
  struct Flow {
    Arrivals arrivals;
    std::uint32_t largest = 0;  // bytes
    Psn granted_until{};
    Psn granted_at{};  // the newest packet at the last credit
    std::uint64_t granted_receives = 0;
    std::uint64_t granted_bytes = 0;  // of the last credit, counted from its `seen`
    std::uint64_t earlier_bytes = 0;  // what is left of larger ones before, until settled
    Time settled{};
    Time last{};
  };
  static Flow fresh(Psn psn, std::uint32_t bytes, Time now);
  static std::uint32_t receives_owed(const Flow& flow);
  static std::uint64_t bytes_owed(const Flow& flow, Time now);

  LruMap<FlowKey, Flow, FlowKeyHash> flows_{kMaxFlows};
  Time busy_since_{};  // when the first of the flows that are active now began
  std::uint64_t lost_ = 0;
};

}  // namespace weft::hca
