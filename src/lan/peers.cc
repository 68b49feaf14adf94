// SPDX-License-Identifier: Apache-2.0
#include "lan/peers.h"

#include <algorithm>
#include <cassert>

namespace weft::lan {

std::optional<PeerPaths> PeerPaths::choose(std::span<const PeerPath> all) {
  if (all.empty()) return std::nullopt;
  PeerPaths chosen{.path = {all.front()}, .count = 1};
  const auto other = std::ranges::find_if(all, [&](const PeerPath& path) {
    return path.dlid != all.front().dlid || path.slid != all.front().slid;
  });
  if (other != all.end()) chosen.path[chosen.count++] = *other;
  return chosen;
}

std::optional<PeerId> Peers::find(const Sender& sender) const {
  if (const auto peer = find(sender.lid); peer || !sender.port) return peer;
  const auto known = by_port_.find(*sender.port);
  if (known == by_port_.end()) return std::nullopt;
  const PeerPaths& paths = get(known->second).paths;
  const bool same_way =
      std::any_of(paths.path.begin(), paths.path.begin() + static_cast<std::ptrdiff_t>(paths.count),
                  [&](const PeerPath& path) { return path.global && path.dlid == sender.lid; });
  return same_way ? std::optional(known->second) : std::nullopt;
}

Peers::Peers(std::size_t most) : peers_(most), by_lid_(0xC000, kNobody) {
  assert(most >= 1 && most < kNobody);
  for (std::size_t id = most; id > 0; --id)
    free_.push_back(static_cast<PeerId>(id - 1));
}

std::optional<PeerId> Peers::add(const Peer& peer) {
  if (free_.empty()) return std::nullopt;
  const PeerId id = free_.back();
  free_.pop_back();
  peers_[id] = peer;
  all_.push_back(id);
  by_port_[peer.port] = id;
  map(peer.lids, kNobody, id);
  return id;
}

void Peers::remove(PeerId id) {
  assert(peers_[id].has_value());
  map(peers_[id]->lids, id, kNobody);
  by_port_.erase(peers_[id]->port);
  peers_[id].reset();
  std::erase(all_, id);
  free_.push_back(id);
}

void Peers::replace(PeerId id, const Peer& peer) {
  assert(peers_[id].has_value());
  map(peers_[id]->lids, id, kNobody);
  peers_[id] = peer;
  map(peer.lids, kNobody, id);
}

// When LIDs change hands, their new port may be known before their old one is known to have others:
// `to` takes them from whoever has them, but gives back only those that `from` still has.
void Peers::map(const PortLids& lids, PeerId from, PeerId to) {
  assert(lids.valid());
  for (std::size_t i = 0; i < std::size_t{1} << lids.lmc; ++i) {
    PeerId& owner = by_lid_[lids.base.value() + i];
    if (to != kNobody || owner == from) owner = to;
  }
}

}  // namespace weft::lan
