// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_report.h"

#include <algorithm>

#include "daemon/lan/lan_driver.h"
#include "daemon/lan/lan_drops.h"

namespace weft::daemon {

std::string_view to_string(LanState state) {
  switch (state) {
    case LanState::kWaiting:
      return "waiting";
    case LanState::kUp:
      return "up";
    case LanState::kDown:
      return "down";
    case LanState::kFailed:
      return "failed";
  }
  return "";
}

LanReport LanDriver::report() const {
  LanReport out;
  out.node = options_.node;
  out.port = options_.port;
  out.network_namespace = options_.network_namespace;
  out.mtu = mtu_;
  out.bridges = bridges();
  out.qpn = queue_pairs_->end().qpn;
  out.packets = queue_pairs_->port_counters();
  out.datagrams = queue_pairs_->datagram_counters();
  out.channels = queue_pairs_->channel_counters();
  out.subnet = subnet_->counters();
  out.frames = counters_.snapshot();
  out.drops = sum_of(out.frames, kLanDriverDrops) + sum_of(out.packets, kResidentDrops) +
              sum_of(out.datagrams, kUdDrops) + sum_of(out.channels, kConnectedDrops);
  out.notes.assign(notes_.all().begin(), notes_.all().end());
  if (interface_) {
    out.interface = interface_->name();
    out.queues.assign(interface_->frames().begin(), interface_->frames().end());
  }
  if (!failed_.empty()) {
    out.state = LanState::kFailed;
    out.why = failed_;
  } else if (!active_) {
    out.state = interface_ ? LanState::kDown : LanState::kWaiting;
    out.why = lan_ ? "the port is not active" : "the port has not been active yet";
  } else {
    out.state = LanState::kUp;
  }
  if (lan_) describe(out);
  return out;
}

void LanDriver::describe(LanReport& out) const {
  out.lids = lids_;
  if (interface_) out.mac = host_mac_;
  const auto counted = lan_->counters().snapshot();
  out.drops += sum_of(counted, kLanDrops);
  out.frames.insert(out.frames.end(), counted.begin(), counted.end());
  const auto all = lan_->peers().all();
  std::vector<lan::PeerId> ids(all.begin(), all.end());
  std::ranges::sort(ids, {}, [this](lan::PeerId id) { return lan_->peers().get(id).lids.base; });
  for (const lan::PeerId id : ids) {
    const lan::Peer& peer = lan_->peers().get(id);
    out.peers.push_back({.port = peer.port,
                         .node = subnet_->name_of(peer.port),
                         .lids = peer.lids,
                         .mac = lan_->bonds().address(id).value_or(lan::mac_of(peer.lids)),
                         .path = peer.path(),
                         .paths = peer.paths.count,
                         .qpn = peer.end.qpn,
                         .bridges = lan_->peer_bridges(id),
                         .stations = lan_->stations().count(id),
                         .channel = lan_->channels().state(id),
                         .groups = lan_->peer_groups(id)});
  }
}

}  // namespace weft::daemon
