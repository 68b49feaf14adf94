// SPDX-License-Identifier: Apache-2.0
// Messages of peers.
#include "lan/lan_port.h"

namespace weft::lan {
namespace {

// Whether what comes from this LID says that the path in use leads to the peer. A way there through
// a data service may have a way back that is direct: nothing else can be heard then.
bool answers_path(const Peer& peer, Lid from) {
  const PeerPath& path = peer.path();
  return from == path.dlid || (path.global && peer.lids.contains(from));
}

}  // namespace

std::optional<LanMessage> LanPort::read(Bytes message) {
  const auto read = LanMessage::parse(message);
  if (read) return *read;
  switch (read.error()) {
    case NoMessage::kOther:
      count(LanCounter::kRxNotLan);
      break;
    case NoMessage::kVersion:
      count(LanCounter::kRxVersion);
      break;
    case NoMessage::kMalformed:
      count(LanCounter::kRxMalformed);
      break;
  }
  return std::nullopt;
}

void LanPort::from_datagram(const Sender& sender, Qpn queue_pair, Bytes bytes, Time now) {
  const auto message = read(bytes);
  if (!message) return;
  if (lids_.contains(sender.lid)) return count(LanCounter::kRxOwn);
  const auto peer = peers().find(sender);
  if (!peer) {
    count(LanCounter::kRxStranger);
    return directory_.stranger_heard(sender, now);
  }
  // Any program of the peer's node can send to ours, but not from the queue pair of its LAN port.
  if (peers().get(*peer).end.qpn != queue_pair) {
    count(LanCounter::kRxForgedQueuePair);
    return directory_.stranger_heard(sender, now);
  }
  if (answers_path(peers().get(*peer), sender.lid)) watch_.heard(*peer);
  const auto whole = reassembly_.add(*peer, *message, now);
  if (!whole) return;
  if (whole->header.kind == MessageKind::kGroups) return take_groups(*peer, whole->part, now);
  if (receive(*peer, *whole, now)) count(LanCounter::kRxByDatagram);
}

void LanPort::from_channel(PeerId peer, Bytes bytes, Time now) {
  const auto message = read(bytes);
  if (!message) return;
  if (!message->whole() || message->header.kind != MessageKind::kFrame) {
    return count(LanCounter::kRxNotWhole);
  }
  watch_.heard(peer);
  (void)channels_.use(peer, now);
  if (receive(peer, *message, now)) count(LanCounter::kRxByChannel);
}

// True: the host has it.
bool LanPort::receive(PeerId peer, const LanMessage& message, Time now) {
  const auto read = EthernetFrame::read(message.part);
  if (!read) {
    count(LanCounter::kRxTooShort);
    return false;
  }
  if (!fits_mtu(message.header.offload, message.part, read->tags)) {
    count(LanCounter::kRxTooLong);
    return false;
  }
  if (!is_from(peer, *read, now) || !is_for_host(peer, *read, now)) return false;
  count(LanCounter::kRxFrames);
  user_.to_host(message.header.offload, message.part);
  return true;
}

bool LanPort::is_from(PeerId peer, const EthernetFrame& read, Time now) {
  const auto lids = lids_of(read.source);
  if (lids && *lids == peers().get(peer).lids) return true;
  if (kind_of(read.source) == MacKind::kForeign) {
    if (read.source == own_address_) {
      count(LanCounter::kRxOwnBond);
      return false;
    }
    return bonds_.address(peer) == read.source || is_from_station(peer, read, now);
  }
  count(lids ? LanCounter::kRxForgedSource : LanCounter::kRxForeignSource);
  return false;
}

bool LanPort::is_for_host(PeerId peer, const EthernetFrame& read, Time now) {
  if (is_same(read.destination, mac_)) return true;
  const MacKind kind = kind_of(read.destination);
  if (kind == MacKind::kPort || kind == MacKind::kForeign) {
    // Who bridges hands on what is for anybody behind it: which those are, its bridge knows.
    const bool may_be_behind = bridge_ && kind == MacKind::kForeign;
    const bool ours = read.destination == own_address_;
    if (ours || may_be_behind) return true;
    count(LanCounter::kRxNotOurs);
    return false;
  }
  const bool group = kind == MacKind::kGroup;
  if (group && GroupMessage::read(read).kind() == GroupMessage::Kind::kReport) {
    if (!host_groups_.router()) count(LanCounter::kRxReport);
    return host_groups_.router();
  }
  if (group && is_reported_group(read.destination)) return true;
  if (!may_go_to_all(peer_states_[peer].limits, read.destination, now)) {
    count(LanCounter::kRxStorm);
    return false;
  }
  look_for_topology_change(read, now);
  return true;
}

void LanPort::take_groups(PeerId peer, Bytes list, Time now) {
  auto groups = GroupList::parse(list);
  if (!groups) return count(LanCounter::kRxMalformed);
  bonds_.set(peer, groups->address);
  // It has given the channel up, as one whose peer had gone, and could not say so. What is sent by
  // it is lost, and nobody says that.
  if (groups->no_channel && channels_.settled(peer, now)) {
    count(LanCounter::kChannelsLost);
    channels_.down(peer, now);
    user_.disconnect(peer);
  }
  if (groups->asks) say_groups({&peer, 1});
  set_groups(peer, std::move(*groups));
  peer_states_[peer].groups_until = now + GroupList::kLifetime;
}

// Who bridges no more has no stations behind him.
void LanPort::set_groups(PeerId peer, std::optional<GroupList> groups) {
  const bool bridged = peer_bridges(peer);
  peer_states_[peer].groups = std::move(groups);
  if (bridged && !peer_bridges(peer)) stations_.forget(peer);
}

void LanPort::forget_groups(PeerId peer, Time now) {
  const auto address = bonds_.address(peer);
  if (address && address == own_address_) host_groups_.begin_anew(now);
  bonds_.set(peer, std::nullopt);
  set_groups(peer, std::nullopt);
}

void LanPort::forget_silent(Time now) {
  for (const PeerId peer : peers().all()) {
    const PeerState& state = peer_states_[peer];
    if (state.groups && now >= state.groups_until) forget_groups(peer, now);
  }
}

}  // namespace weft::lan
