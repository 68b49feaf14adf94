// SPDX-License-Identifier: Apache-2.0
// Addresses that tell no LID: those that hosts have given the interfaces of LAN ports, and those of
// stations that are no LAN ports, behind peers that bridge and behind our own host.
#include "lan/lan_port.h"
#include "lan/spanning_tree.h"

namespace weft::lan {
namespace {

// What is forgotten has to be learned again by frames to all: not more often than this.
constexpr Duration kForgetApart = 1s;

}  // namespace

void LanPort::to_foreign(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now) {
  if (read.destination == own_address_) return count(LanCounter::kTxToSelf);
  const auto ports = bonds_.find(read.destination);
  if (ports.empty()) return to_station(offload, frame, read, now);
  const PeerId peer = bonds_.choose(ports.front(), frame);
  if (to_peer(peer, offload, frame, read, now)) count(LanCounter::kTxToBond);
}

void LanPort::to_station(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now) {
  if (const auto peer = stations_.find(read.destination)) {
    const PeerId chosen = bonds_.choose(*peer, frame);
    if (to_peer(chosen, offload, frame, read, now)) count(LanCounter::kTxToStation);
    return;
  }
  targets_.clear();
  for (const PeerId peer : peers().all())
    if (peer_bridges(peer)) targets_.push_back(peer);
  bonds_.leave_one_of_each(targets_, own_address_);
  if (targets_.empty()) return count(LanCounter::kTxForeignDestination);
  if (!may_go_to_all(limits_, read.destination, now)) return count(LanCounter::kTxStorm);
  count(LanCounter::kTxFlooded);
  send_to(targets_, offload, frame);
}

// It is behind us now, if it was behind a peer before.
void LanPort::learn_from_host(const EthernetFrame& read) {
  if (read.source != mac_) stations_.forget(read.source);
}

bool LanPort::is_from_station(PeerId peer, const EthernetFrame& read, Time now) {
  if (!peer_bridges(peer)) {
    count(LanCounter::kRxForeignSource);
    return false;
  }
  const auto before = stations_.find(read.source);
  if (!stations_.learn(read.source, peer, now)) {
    count(LanCounter::kStationsScarce);
  } else if (before && !bonds_.same(*before, peer)) {
    count(LanCounter::kStationsMoved);
  }
  return true;
}

void LanPort::look_for_topology_change(const EthernetFrame& read, Time now) {
  if (!is_topology_change(read)) return;
  if (forgot_stations_ && now < *forgot_stations_ + kForgetApart) return;
  forgot_stations_ = now;
  stations_.clear();
  ask_those_behind(now);
}

}  // namespace weft::lan
