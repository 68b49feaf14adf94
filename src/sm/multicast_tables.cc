// SPDX-License-Identifier: Apache-2.0
#include "sm/multicast_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sm/subnet_changes.h"
#include "wire/sm/multicast_top.h"

namespace weft::sm {
namespace {

using wire::MulticastBlock;

constexpr std::size_t kMulticastTablesBlock = MulticastBlock::kEntries;
constexpr std::size_t kWidth = MulticastBlock::kPortsPerPosition;

std::size_t entry_of(Lid mlid) {
  return static_cast<std::size_t>(mlid.value() - MulticastBlock::kFirstLid);
}

}  // namespace

void MulticastTables::set_groups(std::vector<MulticastGroup> groups, Time now) {
  std::map<Lid, MulticastGroup> then;
  for (MulticastGroup& group : groups) {
    if (group.mlid.value() < MulticastBlock::kFirstLid) continue;
    const auto known = groups_.find(group.mlid);
    if (known == groups_.end()) {
      changed_.insert(group.mlid);
    } else if (known->second != group) {
      changed_.insert(group.mlid);
      note_leavers(known->second, group, now);
    }
    then.insert_or_assign(group.mlid, std::move(group));
  }
  for (const auto& [mlid, group] : groups_) {
    if (!then.contains(mlid)) changed_.insert(mlid);
  }
  groups_ = std::move(then);
}

void MulticastTables::note_leavers(const MulticastGroup& before, const MulticastGroup& after,
                                   Time now) {
  std::set<Guid> still(after.members.begin(), after.members.end());
  still.insert(after.senders.begin(), after.senders.end());
  for (const std::vector<Guid>* list : {&before.members, &before.senders}) {
    for (const Guid guid : *list) {
      if (still.contains(guid)) continue;
      leavers_[{before.mlid, guid}] = now + kLinger;
      expires_ = std::min(expires_.value_or(now + kLinger), now + kLinger);
    }
  }
}

void MulticastTables::expire(Time now) {
  if (!expires_ || *expires_ > now) return;
  expires_.reset();
  for (auto leaver = leavers_.begin(); leaver != leavers_.end();) {
    const auto& [mlid, guid] = leaver->first;
    if (leaver->second <= now) {
      changed_.insert(mlid);
      leaver = leavers_.erase(leaver);
    } else {
      expires_ = std::min(expires_.value_or(leaver->second), leaver->second);
      ++leaver;
    }
  }
}

void MulticastTables::forget() {
  trees_.reset();
  graph_.reset();
  switches_.clear();
  switch_at_.clear();
  left_alone_.clear();
  ends_.clear();
  planned_.clear();
  different_.clear();
}

void MulticastTables::leave_alone(std::uint32_t node) {
  left_alone_.insert(node);
}

void MulticastTables::take(const Subnet& subnet, SwitchGraph graph,
                           const std::vector<SwitchIndex>& index) {
  forget();
  graph_ = std::make_unique<SwitchGraph>(std::move(graph));
  trees_ = std::make_unique<MulticastTrees>(*graph_);
  switches_.resize(graph_->switches());
  for (std::uint32_t node = 0; node < subnet.nodes.size(); ++node) {
    const SubnetNode& at = subnet.nodes[node];
    if (!at.is_switch()) continue;
    switch_at_[node] = index[node];
    switches_[index[node]] = {
        .node = node,
        .positions = SwitchTables::positions(at.info.ports),
        .entries = at.switch_info ? at.switch_info->multicast_cap : std::size_t{0}};
  }
  for (const PortRef& end : subnet.end_ports()) {
    const SubnetPort& port = subnet.port(end);
    if (subnet.nodes[end.node].is_switch()) {
      ends_[port.guid.value()] = {.at = index[end.node], .port = 0};
    } else if (port.peer && subnet.nodes[port.peer->node].is_switch()) {
      ends_[port.guid.value()] = {.at = index[port.peer->node], .port = port.peer->port};
    }
  }
  for (const auto& [mlid, group] : groups_)
    changed_.insert(mlid);
  add_known(subnet);
}

// What switches have of groups that are no more goes, and what they may have.
void MulticastTables::add_known(const Subnet& subnet) {
  for (SwitchIndex at = 0; at < switches_.size(); ++at) {
    const Switch& there = switches_[at];
    const auto& known = subnet.nodes[there.node].tables.multicast;
    for (std::size_t i = 0; i < known.size(); ++i)
      different_.insert({at, i / there.positions, i % there.positions});
  }
}

void MulticastTables::put(Lid mlid, const MulticastHop& hop) {
  Switch& there = switches_[hop.at];
  const std::size_t entry = entry_of(mlid);
  const std::size_t block = entry / kMulticastTablesBlock;
  there.masks.resize(
      std::max(there.masks.size(), (block + 1) * kMulticastTablesBlock * there.positions));
  for (std::size_t position = 0; position < there.positions; ++position) {
    const PortSet part = (hop.ports >> (position * kWidth)) & PortSet(0xFFFF);
    const auto mask = static_cast<std::uint16_t>(part.to_ulong());
    std::uint16_t& now = there.masks[entry * there.positions + position];
    // All positions of a block that is used: none of them may be what somebody has left there.
    different_.insert({hop.at, block, position});
    now = mask;
  }
}

void MulticastTables::plan(Lid mlid, Changes& changes, const Subnet& subnet) {
  for (const SwitchIndex at : std::exchange(planned_[mlid], {}))
    put(mlid, {.at = at, .ports = {}});
  const auto group = groups_.find(mlid);
  if (group == groups_.end()) {
    planned_.erase(mlid);
    return;
  }
  std::vector<MulticastEnd> ends;
  const auto add = [&](const std::vector<Guid>& guids, bool receive) {
    for (const Guid guid : guids) {
      const auto found = ends_.find(guid.value());
      if (found == ends_.end()) continue;
      ends.push_back(found->second);
      ends.back().receives = receive;
    }
  };
  add(group->second.members, true);
  add(group->second.senders, false);
  for (auto leaver = leavers_.lower_bound({mlid, Guid{}});
       leaver != leavers_.end() && leaver->first.first == mlid; ++leaver)
    add({leaver->first.second}, false);
  const std::vector<MulticastHop> hops = trees_->hops(mlid, ends);
  for (const MulticastHop& hop : hops) {
    const Switch& there = switches_[hop.at];
    if (entry_of(mlid) < there.entries) continue;
    changes.warn(fmt::format("multicast LID {:#06x} is not routed: {} has entries for {}",
                             mlid.value(), name_of(subnet.nodes[there.node]), there.entries));
    return;
  }
  for (const MulticastHop& hop : hops) {
    put(mlid, hop);
    planned_[mlid].push_back(hop.at);
  }
}

void MulticastTables::write(Changes& changes, Subnet& subnet) {
  for (const Lid mlid : std::exchange(changed_, {}))
    plan(mlid, changes, subnet);
  for (const Block& block : std::exchange(different_, {})) {
    if (!is_left_alone(switches_[std::get<SwitchIndex>(block)].node)) {
      write_block(block, changes, subnet);
    }
  }
}

void MulticastTables::write_block(const Block& block, Changes& changes, Subnet& subnet) {
  const auto [at, number, position] = block;
  const Switch& there = switches_[at];
  MulticastBlock wanted;
  for (std::size_t i = 0; i < kMulticastTablesBlock; ++i) {
    const std::size_t mask = (number * kMulticastTablesBlock + i) * there.positions + position;
    if (mask < there.masks.size()) wanted.masks[i] = there.masks[mask];
  }
  auto& known = subnet.nodes[there.node].tables.multicast;
  const std::size_t slot = number * there.positions + position;
  known.resize(std::max(known.size(), (number + 1) * there.positions));
  if (known[slot] == wanted) return;
  known[slot].reset();  // until the switch has confirmed it
  std::array<std::byte, wire::smp::kDataSize> data{};
  wanted.write(data);
  const auto modifier = static_cast<std::uint32_t>(position << 28 | number);
  changes.set(subnet.nodes[there.node].route, wire::SmAttribute::kMulticastForwarding, modifier,
              data, [&changes, &subnet, node = there.node, slot, wanted](const SmpResult& result) {
                SubnetNode& done = subnet.nodes[node];
                if (result.answered()) {
                  done.tables.multicast[slot] = wanted;
                } else {
                  changes.failed("multicast forwarding table of " + name_of(done), result);
                }
              });
}

Lid MulticastTables::top(const Subnet& subnet, std::uint32_t node) const {
  const SubnetNode& at = subnet.nodes[node];
  const auto found = switch_at_.find(node);
  const auto& port = at.ports[0].info;
  const bool has_top =
      found != switch_at_.end() && port && (port->capability_mask & wire::kCapMulticastFdbTop) != 0;
  if (!has_top) return at.switch_info->multicast_top;
  const Switch& there = switches_[found->second];
  const auto last = std::find_if(there.masks.rbegin(), there.masks.rend(),
                                 [](std::uint16_t mask) { return mask != 0; });
  const auto used = static_cast<std::size_t>(there.masks.rend() - last);
  if (used == 0) return wire::kNoMulticastTop;
  const std::size_t blocks = (used - 1) / (kMulticastTablesBlock * there.positions) + 1;
  const std::size_t end = std::min(blocks * kMulticastTablesBlock, there.entries);
  return Lid{static_cast<std::uint16_t>(MulticastBlock::kFirstLid + end - 1)};
}

}  // namespace weft::sm
