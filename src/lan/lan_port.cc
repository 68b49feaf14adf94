// SPDX-License-Identifier: Apache-2.0
#include "lan/lan_port.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "lan/group_query.h"
#include "lan/segments.h"
#include "lan/spanning_tree.h"

namespace weft::lan {
namespace {

// So that a host that joins several groups at once tells them at once.
constexpr Duration kGatherGroups = 20ms;
constexpr unsigned kSayAgain = 2;
constexpr Duration kSayAgainAfter = 1s;

// Of frames by which bridges and their neighbours speak to each other: far more than they send.
// Other frames do not keep these away, or a loop that makes a storm would never be cut.
constexpr double kLinkLocalPerSecond = 1000;

// After a port has joined the fabric's group, until the subnet manager has told all switches.
constexpr Duration kGroupSettles = 2s;

}  // namespace

LanPort::LanPort(const LanOptions& options, LanUser& user, Time now)
    : options_(options),
      user_(user),
      lids_(options.lids),
      mac_(mac_of(options.lids)),
      mtu_(options.mtu),
      bridge_(options.bridge),
      directory_(options.directory, *this),
      reassembly_(options.reassembly, counters_),
      channels_(options.channels, options.directory.peers),
      host_groups_(options.groups, now),
      stations_(options.stations, options.directory.peers),
      bonds_(options.directory.peers),
      watch_(options.directory.peers),
      peer_states_(options.directory.peers),
      next_number_(options.first_number),
      say_groups_at_(now + GroupList::kRepeat) {
  assert(options.mtu <= kMostMtu);
  ask_those_behind(now);
  targets_.reserve(options.directory.peers);
  apart_.reserve(options.directory.peers);
}

void LanPort::port_changed(const PortLids& lids, Time now) {
  lids_ = lids;
  mac_ = mac_of(lids);
  directory_.ways_changed(now);
}

// Before frames of that address go there, which nobody takes of a port that has not said it.
void LanPort::address_changed(const std::optional<MacAddress>& address, Time now) {
  const bool tells_none = address && kind_of(*address) == MacKind::kForeign;
  const auto before = std::exchange(own_address_, tells_none ? address : std::nullopt);
  if (own_address_ == before) return;
  groups_changed(now);
  say_groups(peers().all());
}

// Before frames of stations go there, which nobody takes of a port that is no bridge.
void LanPort::set_bridge(bool bridge, Time now) {
  if (std::exchange(bridge_, bridge) == bridge) return;
  ask_those_behind(now);
  groups_changed(now);
  say_groups(peers().all());
}

// There may be others behind a bridge than before.
void LanPort::ask_those_behind(Time now) {
  if (bridge_ && host_groups_.begin_again(now)) groups_changed(now);
}

bool LanPort::ask(std::uint64_t number, const Question& question, Time now) {
  return user_.ask(number, question, now);
}

void LanPort::came(PeerId peer, Time) {
  user_.peer_came(peer);
  say_groups({&peer, 1}, true);
}

// It may be another program by now, which begins anew.
void LanPort::moved(PeerId peer, Time) {
  watch_.heard(peer);
  user_.peer_moved(peer);
  say_groups({&peer, 1}, true);
}

void LanPort::went(PeerId peer, Time now) {
  if (channels_.forget(peer)) user_.disconnect(peer);
  reassembly_.forget(peer);
  stations_.forget(peer);
  forget_groups(peer, now);
  watch_.heard(peer);
  peer_states_[peer] = {};
  user_.peer_went(peer);
}

bool LanPort::accept_channel(PeerId peer, Time now) {
  const bool first = lids_.base < peers().get(peer).lids.base;
  const Channels::Wanted wanted = channels_.wanted_by_peer(peer, first, now);
  if (wanted.give_up) user_.disconnect(*wanted.give_up);
  if (wanted.scarce) count(LanCounter::kChannelsScarce);
  return wanted.ask;
}

bool LanPort::peer_joined(PeerId peer) const {
  const PeerState& state = peer_states_[peer];
  return state.groups && state.groups->joined;
}

bool LanPort::peer_bridges(PeerId peer) const {
  const PeerState& state = peer_states_[peer];
  return state.groups && state.groups->bridges;
}

bool LanPort::peer_wants(PeerId peer, const MacAddress& group) const {
  const PeerState& state = peer_states_[peer];
  return !state.groups || state.groups->wants(group);
}

void LanPort::groups_changed(Time now) {
  say_groups_at_ = std::min(say_groups_at_, now + kGatherGroups);
  say_again_ = kSayAgain;
}

void LanPort::group_joined(Time now) {
  group_ = Group::kJoined;
  group_reached_at_ = now + kGroupSettles;
}

void LanPort::group_left(Time now) {
  const bool said = std::exchange(group_, Group::kNone) == Group::kReached;
  if (said) groups_changed(now);
}

bool LanPort::may_go_to_all(Limits& limits, const MacAddress& to, Time now) const {
  return is_link_local(to) ? limits.link_local.allows(kLinkLocalPerSecond, now)
                           : limits.all.allows(options_.storm_per_s, now);
}

void LanPort::say_groups(std::span<const PeerId> to, bool asks) {
  GroupList said = host_groups_.wanted();
  said.bridges = bridge_;
  said.joined = group_ == Group::kReached;
  said.address = own_address_;
  said.asks = asks;
  for (const bool no_channel : {false, true}) {
    apart_.clear();
    std::ranges::copy_if(to, std::back_inserter(apart_), [&](PeerId peer) {
      return (channels_.state(peer) == Channels::State::kNone) == no_channel;
    });
    if (apart_.empty()) continue;
    said.no_channel = no_channel;
    said.write(groups_text_);
    send_datagrams(apart_, {.kind = MessageKind::kGroups}, groups_text_);
  }
}

void LanPort::query_host(Time now) {
  const GroupQueries queries(kAskingAddress, host_groups_.response_time());
  user_.to_host({}, queries.igmp());
  user_.to_host({}, queries.mld());
  // Without it a bridge that listens hands on to the port neither reports of IGMPv2 nor what its
  // stations send to groups of IPv4, since who asks in the name of nobody is no router to it.
  if (bridge_) user_.to_host({}, GroupAdvertisement(kAskingAddress).igmp());
  host_groups_.queried(now);
}

void LanPort::run(Time now) {
  directory_.run(now);
  if (now >= say_groups_at_) forget_silent(now);
  reassembly_.run(now);
  stations_.run(now);
  watch_.run(now, [&](PeerId peer) {
    count(LanCounter::kPathsChecked);
    directory_.check(peer, now);
  });
  if (host_groups_.run(now)) groups_changed(now);
  if (host_groups_.query_due(now)) query_host(now);
  if (group_ == Group::kJoined && now >= group_reached_at_) {
    group_ = Group::kReached;
    groups_changed(now);
  }
  while (const auto idle = channels_.take_idle(now))
    user_.disconnect(*idle);
  if (now < say_groups_at_) return;
  const bool again = say_again_ != 0;
  if (again) --say_again_;
  say_groups_at_ = now + (again ? kSayAgainAfter : GroupList::kRepeat);
  say_groups(peers().all());
}

Time LanPort::deadline() const {
  Time next = std::min(say_groups_at_, host_groups_.deadline());
  const auto sooner = [&next](const std::optional<Time>& at) {
    if (at && *at < next) next = *at;
  };
  sooner(directory_.deadline());
  sooner(reassembly_.deadline());
  sooner(channels_.deadline());
  sooner(stations_.deadline());
  sooner(watch_.deadline());
  if (group_ == Group::kJoined) next = std::min(next, group_reached_at_);
  return next;
}

}  // namespace weft::lan
