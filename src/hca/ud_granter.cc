// SPDX-License-Identifier: Apache-2.0
#include "hca/ud_granter.h"

#include <algorithm>

namespace weft::hca {
namespace {

constexpr std::uint32_t kUdGranterMostReceives = 1u << 20;  // keeps PSN differences unambiguous

}  // namespace

UdGranter::Flow UdGranter::fresh(Psn psn, std::uint32_t bytes, Time now) {
  Flow flow;
  flow.arrivals = Arrivals(psn);
  flow.largest = bytes;
  flow.granted_until = psn + (CreditPacer::kInitialReceives - 1);
  flow.granted_at = psn - 1;
  flow.granted_receives = CreditPacer::kInitialReceives;
  flow.granted_bytes = CreditPacer::kInitialBytes;
  flow.settled = now;
  flow.last = now;
  return flow;
}

void UdGranter::arrived(const FlowKey& key, Psn psn, Time now, std::uint32_t bytes) {
  if (flows_.size() == 0 || now - flows_.begin()->value.last > kActive) busy_since_ = now;
  Flow* const found = flows_.touch(key);
  if (found == nullptr) {
    flows_.insert(key, fresh(psn, bytes, now));
    return;
  }
  Flow& flow = *found;
  if (now - flow.last > kActive) {  // its sender has started over, with the initial window
    flow.granted_until = flow.arrivals.newest() + CreditPacer::kInitialReceives;
    flow.granted_receives = CreditPacer::kInitialReceives;
    flow.granted_bytes = CreditPacer::kInitialBytes;
    flow.settled = now;
  }
  flow.last = now;
  flow.largest = std::max(flow.largest, bytes);
  const std::uint32_t lost = flow.arrivals.lost();
  const Arrivals::Kind kind = flow.arrivals.note(psn);
  lost_ += static_cast<std::uint64_t>(static_cast<std::int32_t>(flow.arrivals.lost() - lost));
  if (kind == Arrivals::Kind::kNewer) {
    // At least these bytes of an earlier grant are used; what the packet cost beyond them depends
    // on its run, which only the sender knows.
    flow.earlier_bytes -= std::min<std::uint64_t>(flow.earlier_bytes, bytes);
  } else if (kind == Arrivals::Kind::kRestarted) {
    const Arrivals arrivals = flow.arrivals;
    flow = fresh(psn, bytes, now);
    flow.arrivals = arrivals;
  }
}

std::uint32_t UdGranter::receives_owed(const Flow& flow) {
  return static_cast<std::uint32_t>(
      std::max(0, Psn::diff(flow.granted_until, flow.arrivals.newest())));
}

std::uint64_t UdGranter::bytes_owed(const Flow& flow, Time now) {
  if (now >= flow.settled) return flow.granted_bytes;
  return std::max(flow.granted_bytes, flow.earlier_bytes);
}

std::optional<Credit> UdGranter::grant(const FlowKey& key, std::uint32_t receives,
                                       std::uint32_t bytes, Time now) {
  Flow* const found = flows_.find(key);
  if (found == nullptr) return std::nullopt;
  Flow& flow = *found;
  std::uint32_t active = 1;
  std::uint64_t owed_receives = 0;  // to the others
  std::uint64_t owed_bytes = 0;
  for (const auto& [other_key, other] : flows_) {
    if (now - other.last > kActive) break;  // the list is in the order of arrivals
    if (&other == &flow) continue;
    ++active;
    owed_receives += receives_owed(other);
    owed_bytes += bytes_owed(other, now);
  }
  receives = std::min(receives, kUdGranterMostReceives);
  const auto share = [active](std::uint64_t all, std::uint64_t owed, std::uint64_t most) {
    return std::min({all / active, all - std::min(all, owed), most});
  };
  const bool may_grow = flow.arrivals.newest() != flow.granted_at && now - busy_since_ >= kSettle;
  std::uint64_t granted =
      share(receives, owed_receives, flow.granted_receives * (may_grow ? 2 : 1));
  if (receives > owed_receives) granted = std::max<std::uint64_t>(granted, 1);
  const std::uint64_t most_bytes =
      std::min<std::uint64_t>(flow.granted_bytes * (may_grow ? 2 : 1), kMostGranted);
  const std::uint64_t granted_bytes =
      std::max<std::uint64_t>(share(bytes, owed_bytes, most_bytes), flow.largest + kPacketCost);

  const Psn until = flow.arrivals.newest() + static_cast<std::uint32_t>(granted);
  if (Psn::diff(until, flow.granted_until) > 0) flow.granted_until = until;
  if (granted_bytes < bytes_owed(flow, now)) {
    flow.earlier_bytes = bytes_owed(flow, now);
    if (now >= flow.settled) flow.settled = now + kSettle;
  }
  flow.granted_at = flow.arrivals.newest();
  flow.granted_receives = std::max<std::uint64_t>(granted, 1);
  flow.granted_bytes = granted_bytes;
  return Credit{.seen = flow.arrivals.newest(),
                .receives = static_cast<std::uint32_t>(granted),
                .bytes = static_cast<std::uint32_t>(granted_bytes),
                .lost = flow.arrivals.lost()};
}

}  // namespace weft::hca
