// SPDX-License-Identifier: Apache-2.0
#include "sm/partitions.h"

#include <algorithm>

#include "base/ids.h"

namespace weft::sm {
namespace {

constexpr std::uint8_t kPartitionsLinkLocalScope = 2;

bool concerns(Members whom, const Partition::Port& port) {
  switch (whom) {
    case Members::kAll:
      return true;
    case Members::kAdapters:
      return port.type == wire::NodeType::kChannelAdapter;
    case Members::kVirtualAdapters:
      return false;
    case Members::kSwitches:
      return port.type == wire::NodeType::kSwitch;
    case Members::kRouters:
      return port.type == wire::NodeType::kRouter;
    case Members::kManager:
      return port.is_manager;
  }
  return false;
}

}  // namespace

std::optional<Partition::Rule> Partition::rule_naming(Guid port) const {
  const auto found = by_port_.find(port.value());
  return found == by_port_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Partition::Rule> Partition::rule_of(const Port& port) const {
  std::optional<Rule> last = rule_naming(port.guid);
  for (std::size_t kind = 0; kind < kMembersKinds; ++kind) {
    const auto& rule = by_kind_[kind];
    if (!rule || !concerns(static_cast<Members>(kind), port)) continue;
    if (!last || rule->order > last->order) last = rule;
  }
  return last;
}

Partitions Partitions::standard() {
  Partitions all;
  Partition& partition = all.partitions.emplace_back("Default", kDefaultNumber);
  partition.add(Members::kAll, {.membership = Membership::kFull});
  all.groups.push_back({.mgid = ipoib_broadcast(partition.full_key(), kPartitionsLinkLocalScope),
                        .pkey = partition.full_key(),
                        .qkey = kIpoibQKey});
  return all;
}

Partitions::Keys Partitions::keys_of(const Partition::Port& port) const {
  Keys keys;
  std::optional<std::uint32_t> order;
  for (const Partition& partition : partitions) {
    const auto rule = partition.rule_of(port);
    if (!rule) continue;
    const PKey limited{partition.number()};
    const bool is_limited = rule->membership == Membership::kLimited;
    keys.all.push_back(is_limited ? limited : partition.full_key());
    if (rule->index0 && (!order || rule->order > *order)) {
      order = rule->order;
      keys.first = keys.all.back();
    }
    if (rule->membership == Membership::kBoth && allow_both) keys.all.push_back(limited);
  }
  return keys;
}

Gid with_scope(const Gid& mgid, std::uint8_t scope) {
  auto bytes = mgid.bytes();
  bytes[1] = static_cast<std::uint8_t>((bytes[1] & 0xF0) | (scope & 0x0F));
  return Gid(bytes);
}

Gid ipoib_broadcast(PKey full_key, std::uint8_t scope) {
  return with_scope(
      Gid({0xFF, 0x12, 0x40, 0x1B, static_cast<std::uint8_t>(full_key.value() >> 8),
           static_cast<std::uint8_t>(full_key.value()), 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}),
      scope);
}

}  // namespace weft::sm
