// SPDX-License-Identifier: Apache-2.0
#include "lan/bonds.h"

#include <algorithm>

#include "lan/flow.h"

namespace weft::lan {

void Bonds::set(PeerId peer, const std::optional<MacAddress>& address) {
  if (this->address(peer) == address) return;
  if (auto& place = of_peer_[peer]) {
    std::erase((*place)->second.peers, peer);
    if ((*place)->second.peers.empty()) bonds_.erase(*place);
    place.reset();
  }
  if (!address) return;
  const auto place = bonds_.try_emplace(*address).first;
  std::vector<PeerId>& peers = place->second.peers;
  peers.insert(std::ranges::lower_bound(peers, peer), peer);
  of_peer_[peer] = place;
}

std::optional<MacAddress> Bonds::address(PeerId peer) const {
  return of_peer_[peer] ? std::optional((*of_peer_[peer])->first) : std::nullopt;
}

std::span<const PeerId> Bonds::find(const MacAddress& address) const {
  const auto bond = bonds_.find(address);
  return bond == bonds_.end() ? std::span<const PeerId>() : bond->second.peers;
}

PeerId Bonds::choose(PeerId peer, Bytes frame) const {
  if (!of_peer_[peer]) return peer;
  const std::vector<PeerId>& peers = (*of_peer_[peer])->second.peers;
  return peers.size() == 1 ? peer : peers[flow_of(frame) % peers.size()];
}

bool Bonds::same(PeerId one, PeerId other) const {
  return one == other || (of_peer_[one] && of_peer_[one] == of_peer_[other]);
}

void Bonds::leave_one_of_each(std::vector<PeerId>& peers, const std::optional<MacAddress>& own) {
  if (bonds_.empty()) return;
  ++round_;
  std::erase_if(peers, [&](PeerId peer) {
    if (!of_peer_[peer]) return false;
    auto& [address, bond] = **of_peer_[peer];
    const bool met = bond.round == round_;
    bond.round = round_;
    return met || address == own;
  });
}

}  // namespace weft::lan
