// SPDX-License-Identifier: Apache-2.0
#include "lan/bonds.h"

#include <algorithm>

#include "wire/ip.h"

namespace weft::lan {
namespace {

constexpr std::size_t kIpv4Addresses = 12;  // RFC 791, 3.1: where they begin, and how long they are
constexpr std::size_t kIpv4Size = 8;
constexpr std::size_t kIpv6Addresses = 8;  // RFC 8200, 3
constexpr std::size_t kIpv6Size = 32;

// FNV-1a: short, and each bit of the input reaches the low ones of the result.
class Hash {
 public:
  void add(std::uint8_t octet) { value_ = (value_ ^ octet) * 16'777'619U; }
  // Folded, since the lowest bit alone would only be the parity of what was added.
  [[nodiscard]] std::uint32_t value() const { return value_ ^ value_ >> 15; }

 private:
  std::uint32_t value_ = 2'166'136'261U;
};

Bytes ip_addresses(const EthernetFrame& frame) {
  if (frame.type == EthernetFrame::kIpv4 && frame.payload.size() >= wire::kIpv4HeaderSize) {
    return frame.payload.subspan(kIpv4Addresses, kIpv4Size);
  }
  if (frame.type == EthernetFrame::kIpv6 && frame.payload.size() >= wire::kIpv6HeaderSize) {
    return frame.payload.subspan(kIpv6Addresses, kIpv6Size);
  }
  return {};
}

}  // namespace

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

PeerId Bonds::choose(PeerId peer, const EthernetFrame& frame) const {
  if (!of_peer_[peer]) return peer;
  const std::vector<PeerId>& peers = (*of_peer_[peer])->second.peers;
  return peers.size() == 1 ? peer : peers[flow_hash(frame) % peers.size()];
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

std::uint32_t flow_hash(const EthernetFrame& frame) {
  Hash hash;
  for (const MacAddress* const mac : {&frame.destination, &frame.source})
    for (const std::uint8_t octet : *mac)
      hash.add(octet);
  for (const std::byte octet : ip_addresses(frame))
    hash.add(std::to_integer<std::uint8_t>(octet));
  return hash.value();
}

}  // namespace weft::lan
