// SPDX-License-Identifier: Apache-2.0
#include "fabric/raw_queue_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::fabric {

RawQueuePairs::~RawQueuePairs() {
  while (!all_.empty())
    remove(all_.begin()->first);
}

Expected<void> RawQueuePairs::add(Qpn qpn) {
  const auto sends = port_.open(entropy_);
  if (!sends) return tl::unexpected(sends.error());
  all_.emplace(qpn, std::make_unique<One>(*this, qpn, *sends));
  return {};
}

void RawQueuePairs::remove(Qpn qpn) {
  const auto found = all_.find(qpn);
  for (const Share& share : found->second->shares)
    leave(share);
  port_.close(found->second->sends);
  all_.erase(found);
}

// The last one that leaves ends the rule.
void RawQueuePairs::leave(const Share& share) {
  port_.remove_queue(share.set, share.queue);
  if (port_.queues(share.set) == 0) port_.close(share.set);
}

Expected<void> RawQueuePairs::divert(Qpn qpn, const RawRule& rule) {
  One& one = *all_.at(qpn);
  const auto is_same = [&rule](const Share& share) { return share.rule == rule; };
  if (std::any_of(one.shares.begin(), one.shares.end(), is_same)) return {};
  if (one.shares.size() == kMostRules) {
    return fail(std::errc::not_enough_memory,
                fmt::format("a raw queue pair has at most {} rules", kMostRules));
  }
  std::optional<RawPort::Set> set = port_.shared_set_of(rule);
  if (!set) {
    const auto opened = port_.open(entropy_, RawPort::Sharing::kShared);
    if (!opened) return tl::unexpected(opened.error());
    if (auto diverted = port_.divert(*opened, rule); !diverted) {
      port_.close(*opened);
      return diverted;
    }
    set = *opened;
  }
  const auto queue = port_.add_queue(*set, one);
  if (!queue) return tl::unexpected(queue.error());
  // Nobody says when a program has worked on what it has: flows get their places at once.
  for (std::uint16_t other = 0; other < hca::ReceiveSideScaling::kMostQueues; ++other)
    port_.drained(*set, other);
  one.shares.push_back({.rule = rule, .set = *set, .queue = *queue});
  return {};
}

Expected<void> RawQueuePairs::restore(Qpn qpn, const RawRule& rule) {
  auto& shares = all_.at(qpn)->shares;
  const auto share = std::find_if(shares.begin(), shares.end(),
                                  [&rule](const Share& each) { return each.rule == rule; });
  if (share == shares.end()) {
    return fail(std::errc::invalid_argument, "nothing comes to this queue pair by that rule");
  }
  leave(*share);
  shares.erase(share);
  return {};
}

void RawQueuePairs::set_stuck(bool stuck) {
  stuck_ = stuck;
  port_.queues_changed();
}

Sent RawQueuePairs::send(Qpn from, link::PacketPtr packet, Time now) {
  return port_.send(all_.at(from)->sends, std::move(packet), now);
}

}  // namespace weft::fabric
