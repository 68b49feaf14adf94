// SPDX-License-Identifier: Apache-2.0
// Frames of the host.
#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>

#include "lan/lan_port.h"
#include "lan/segments.h"

namespace weft::lan {

void LanPort::from_host(const Offload& offload, Bytes frame, Time now) {
  const auto read = EthernetFrame::read(frame);
  if (!read) return count(LanCounter::kTxTooShort);
  if (!may_send(offload, frame, *read)) return;
  if (bridge_) learn_from_host(*read);
  switch (kind_of(read->destination)) {
    case MacKind::kPort:
      return to_port(offload, frame, *read, now);
    case MacKind::kBroadcast:
      return to_all(offload, frame, now);
    case MacKind::kGroup:
      return to_group(offload, frame, *read, now);
    case MacKind::kForeign:
      return to_foreign(offload, frame, *read, now);
  }
}

bool LanPort::fits_mtu(const Offload& offload, Bytes frame, unsigned tags) const {
  if (offload.gso != Offload::Gso::kNone) return frame.size() <= kLongestFrame;
  return frame.size() <= mtu_ + kEthernetHeader + tags * kVlanTag;
}

bool LanPort::may_send(const Offload& offload, Bytes frame, const EthernetFrame& read) {
  if (!fits_mtu(offload, frame, read.tags)) {
    count(LanCounter::kTxTooLong);
  } else if (!offload.fits(frame.size())) {
    count(LanCounter::kTxMalformed);
  } else if (is_same(read.source, kAskingAddress)) {
    count(LanCounter::kTxQuestion);
  } else if (!may_send_from(read.source)) {
    count(LanCounter::kTxForeignSource);
  } else {
    return true;
  }
  return false;
}

bool LanPort::may_send_from(const MacAddress& source) const {
  return is_same(source, mac_) || source == own_address_ ||
         (bridge_ && kind_of(source) == MacKind::kForeign);
}

void LanPort::to_port(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now) {
  if (is_same(read.destination, mac_)) return count(LanCounter::kTxToSelf);
  const PortLids lids = *lids_of(read.destination);
  const auto peer = peers().find(lids.base);
  if (!peer || peers().get(*peer).lids != lids) return count(LanCounter::kTxNoPeer);
  (void)to_peer(*peer, offload, frame, read, now);
}

// True: it was sent.
bool LanPort::to_peer(PeerId peer, const Offload& offload, Bytes frame, const EthernetFrame& read,
                      Time now) {
  watch_.sent(peer, now);
  if (channels_.use(peer, now)) {
    const LanHeader header{.offload = offload, .total = static_cast<std::uint32_t>(frame.size())};
    std::array<std::byte, LanHeader::kSize> head;
    header.write(head);
    const bool sent = user_.send_message(peer, head, frame);
    count(sent ? LanCounter::kTxByChannel : LanCounter::kTxNoRoom);
    if (sent) count(LanCounter::kTxFrames);
    return sent;
  }
  const bool several = Segments::count(frame.size(), peers().get(peer).path().mtu) > 1;
  if (several || read.is_resolution()) want_channel(peer, now);
  if (send_datagrams({&peer, 1}, {.offload = offload}, frame) != 0) return false;
  count(LanCounter::kTxByDatagram);
  count(LanCounter::kTxFrames);
  return true;
}

void LanPort::want_channel(PeerId peer, Time now) {
  const Channels::Wanted wanted = channels_.want(peer, now);
  if (wanted.give_up) user_.disconnect(*wanted.give_up);
  if (wanted.scarce) count(LanCounter::kChannelsScarce);
  if (wanted.ask) user_.connect(peer);
}

void LanPort::to_all(const Offload& offload, Bytes frame, Time now) {
  if (!may_go_to_all(limits_, kBroadcast, now)) return count(LanCounter::kTxStorm);
  targets_.assign(peers().all().begin(), peers().all().end());
  bonds_.leave_one_of_each(targets_, own_address_);
  if (targets_.empty()) return count(LanCounter::kTxNoMember);
  count(LanCounter::kTxToAll);
  send_to(targets_, offload, frame);
}

void LanPort::to_group(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now) {
  const GroupMessage message = GroupMessage::read(read);
  const bool report = message.kind() == GroupMessage::Kind::kReport;
  if (report || message.kind() == GroupMessage::Kind::kQuery) {
    if (host_groups_.heard(message, now)) groups_changed(now);
  }
  const bool pruned = report || is_reported_group(read.destination);
  if (!pruned && !may_go_to_all(limits_, read.destination, now)) return count(LanCounter::kTxStorm);
  look_for_topology_change(read, now);
  targets_.clear();
  for (const PeerId peer : peers().all()) {
    const auto& groups = peer_states_[peer].groups;
    // Reports are for routers, which want all. Others that hear one would not send their own.
    if (report ? !groups || groups->all : !pruned || peer_wants(peer, read.destination)) {
      targets_.push_back(peer);
    }
  }
  bonds_.leave_one_of_each(targets_, own_address_);
  if (targets_.empty()) return count(LanCounter::kTxNoMember);
  count(LanCounter::kTxToGroup);
  send_to(targets_, offload, frame);
}

// Whether several of these, and nobody else, are reached by the fabric's group. If so, the others
// of them are in apart_. What is for a peer that is behind a data service goes through that: the
// group, which no service sees, would lead around it.
bool LanPort::group_reaches_only(std::span<const PeerId> to) {
  if (group_ != Group::kReached) return false;
  const auto is_led = [this](PeerId peer) { return peers().get(peer).path().global; };
  if (std::ranges::any_of(to, is_led)) return false;
  apart_.clear();
  std::ranges::copy_if(to, std::back_inserter(apart_),
                       [this](PeerId peer) { return !peer_joined(peer); });
  const std::size_t reached = to.size() - apart_.size();
  const auto joined =
      std::ranges::count_if(peers().all(), [this](PeerId peer) { return peer_joined(peer); });
  return reached > 1 && reached == static_cast<std::size_t>(joined);
}

void LanPort::send_to(std::span<const PeerId> to, const Offload& offload, Bytes frame) {
  const LanHeader header{.offload = offload, .number = next_number_};
  if (group_reaches_only(to)) {
    // What those apart get has the same number: it is the same frame.
    const bool sent = user_.send_to_group(header, frame);
    count(sent ? LanCounter::kTxByGroup : LanCounter::kTxNoRoom);
    to = apart_;
  }
  const std::size_t lost = send_datagrams(to, header, frame);
  count(LanCounter::kTxCopies, to.size() - lost);
  count(LanCounter::kTxFrames);
}

// Returns to how many it was not sent.
std::size_t LanPort::send_datagrams(std::span<const PeerId> to, const LanHeader& header,
                                    Bytes frame) {
  LanHeader numbered = header;
  numbered.number = next_number_++;
  if (to.empty()) return 0;
  const std::size_t lost = user_.send_datagrams(to, numbered, frame);
  assert(lost <= to.size());
  if (lost != 0) count(LanCounter::kTxNoRoom, lost);
  return lost;
}

}  // namespace weft::lan
