// SPDX-License-Identifier: Apache-2.0
// Stations that are no LAN ports: those behind peers that bridge, and behind our own host.
#include "lan/lan_port.h"
#include "lan/spanning_tree.h"

namespace weft::lan {
namespace {

// What is forgotten has to be learned again by frames to all: not more often than this.
constexpr Duration kForgetApart = 1s;

}  // namespace

void LanPort::to_station(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now) {
  if (const auto peer = stations_.find(read.destination)) {
    if (to_peer(*peer, offload, frame, read, now)) count(LanCounter::kTxToStation);
    return;
  }
  targets_.clear();
  for (const PeerId peer : peers().all())
    if (peer_bridges(peer)) targets_.push_back(peer);
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
  } else if (before && *before != peer) {
    count(LanCounter::kStationsMoved);
  }
  return true;
}

void LanPort::look_for_topology_change(const EthernetFrame& read, Time now) {
  if (!is_topology_change(read)) return;
  if (forgot_stations_ && now < *forgot_stations_ + kForgetApart) return;
  forgot_stations_ = now;
  stations_.clear();
}

}  // namespace weft::lan
