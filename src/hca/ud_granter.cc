// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>

#include "hca/ud_credit.h"

namespace weft::hca {
namespace {

// A jump further ahead than this is not loss but another numbering.
constexpr std::int32_t kMaxGap = 1 << 20;

}  // namespace

UdGranter::Flow UdGranter::fresh(Psn psn, std::uint32_t bytes, Time now) {
  Flow flow;
  flow.newest = psn;
  flow.seen.set();  // what was before is not ours to miss
  flow.largest = bytes;
  flow.granted_until = psn + (UdPacer::kInitialPackets - 1);
  flow.granted_at = psn - 1;
  flow.granted_packets = UdPacer::kInitialPackets;
  flow.granted_bytes = UdPacer::kInitialBytes;
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
    flow.granted_until = flow.newest + UdPacer::kInitialPackets;
    flow.granted_packets = UdPacer::kInitialPackets;
    flow.granted_bytes = UdPacer::kInitialBytes;
    flow.settled = now;
  }
  flow.last = now;
  flow.largest = std::max(flow.largest, bytes);
  const std::int32_t ahead = Psn::diff(psn, flow.newest);
  if (ahead > 0 && ahead <= kMaxGap) {
    advance(flow, psn, bytes);
    return;
  }
  if (ahead <= 0 && ahead > -static_cast<std::int32_t>(kReorder)) {
    const auto late = static_cast<std::size_t>(-ahead);
    if (flow.seen.test(late)) return;  // a duplicate
    flow.seen.set(late);
    --flow.lost;
    --lost_;
    return;
  }
  // Too far away for the network's doing. As in RFC 3550 A.1, two in sequence are believed.
  if (flow.restart == psn) {
    const std::uint32_t lost = flow.lost;
    flow = fresh(psn, bytes, now);
    flow.lost = lost;
  } else {
    flow.restart = psn + 1;
  }
}

void UdGranter::advance(Flow& flow, Psn psn, std::uint32_t bytes) {
  const auto ahead = static_cast<std::uint32_t>(Psn::diff(psn, flow.newest));
  assert(ahead >= 1);
  flow.lost += ahead - 1;
  lost_ += ahead - 1;
  flow.seen <<= std::min<std::size_t>(ahead, kReorder);
  flow.seen.set(0);
  flow.newest = psn;
  flow.restart.reset();
  // At least these bytes of an earlier grant are used; what the packet cost beyond them depends on
  // its run, which only the sender knows.
  flow.earlier_bytes -= std::min<std::uint64_t>(flow.earlier_bytes, bytes);
}

std::uint32_t UdGranter::packets_owed(const Flow& flow) {
  return static_cast<std::uint32_t>(std::max(0, Psn::diff(flow.granted_until, flow.newest)));
}

std::uint64_t UdGranter::bytes_owed(const Flow& flow, Time now) {
  if (now >= flow.settled) return flow.granted_bytes;
  return std::max(flow.granted_bytes, flow.earlier_bytes);
}

std::optional<UdCredit> UdGranter::grant(const FlowKey& key, std::uint32_t packets,
                                         std::uint32_t bytes, Time now) {
  Flow* const found = flows_.find(key);
  if (found == nullptr) return std::nullopt;
  Flow& flow = *found;
  std::uint32_t active = 1;
  std::uint64_t owed_packets = 0;  // to the others
  std::uint64_t owed_bytes = 0;
  for (const auto& [other_key, other] : flows_) {
    if (now - other.last > kActive) break;  // the list is in the order of arrivals
    if (&other == &flow) continue;
    ++active;
    owed_packets += packets_owed(other);
    owed_bytes += bytes_owed(other, now);
  }
  packets = std::min(packets, static_cast<std::uint32_t>(kMaxGap));
  const auto share = [active](std::uint64_t all, std::uint64_t owed, std::uint64_t most) {
    return std::min({all / active, all - std::min(all, owed), most});
  };
  const bool may_grow = flow.newest != flow.granted_at && now - busy_since_ >= kSettle;
  std::uint64_t granted = share(packets, owed_packets, flow.granted_packets * (may_grow ? 2 : 1));
  if (packets > owed_packets) granted = std::max<std::uint64_t>(granted, 1);
  const std::uint64_t most_bytes =
      std::min<std::uint64_t>(flow.granted_bytes * (may_grow ? 2 : 1), kMostBytes);
  const std::uint64_t granted_bytes =
      std::max<std::uint64_t>(share(bytes, owed_bytes, most_bytes), flow.largest + kPacketCost);

  const Psn until = flow.newest + static_cast<std::uint32_t>(granted);
  if (Psn::diff(until, flow.granted_until) > 0) flow.granted_until = until;
  if (granted_bytes < bytes_owed(flow, now)) {
    flow.earlier_bytes = bytes_owed(flow, now);
    if (now >= flow.settled) flow.settled = now + kSettle;
  }
  flow.granted_at = flow.newest;
  flow.granted_packets = std::max<std::uint64_t>(granted, 1);
  flow.granted_bytes = granted_bytes;
  return UdCredit{.seen = flow.newest,
                  .packets = static_cast<std::uint32_t>(granted),
                  .bytes = static_cast<std::uint32_t>(granted_bytes),
                  .lost = flow.lost};
}

}  // namespace weft::hca
