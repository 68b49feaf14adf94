// SPDX-License-Identifier: Apache-2.0
// Who is there, and connections to them: between the LAN port, LanSubnet and queue pairs.
#include <algorithm>
#include <utility>

#include "daemon/lan/lan_driver.h"
#include "io/clock.h"

namespace weft::daemon {

bool LanDriver::ask(std::uint64_t number, const lan::Question& question, Time) {
  return subnet_->ask(number, question);
}

void LanDriver::answered(std::uint64_t number, const lan::Answer& answer) {
  now_ = io::now();
  if (lan_) lan_->directory().answer(number, answer, now_);
  wake();
}

void LanDriver::in_service(Guid port) {
  if (lan_) lan_->directory().in_service(port, io::now());
  wake();
}

void LanDriver::out_of_service(Guid port) {
  if (lan_) lan_->directory().out_of_service(port, io::now());
  wake();
}

void LanDriver::paths_changed() {
  if (lan_) lan_->directory().ways_changed(io::now());
  wake();
}

// A port that has no queue pair for it gets copies of its own, as those that are in no group.
void LanDriver::group_joined(const LanGroup& group) {
  if (queue_pairs_->join(group)) lan_->group_joined(io::now());
  wake();
}

void LanDriver::group_left() {
  queue_pairs_->leave();
  lan_->group_left(io::now());
  wake();
}

void LanDriver::keep(LanChannel channel, lan::PeerId peer, Qpn queue_pair) {
  const lan::Peer& other = lan_->peers().get(peer);
  channels_[channel] = {
      .peer = peer, .queue_pair = queue_pair, .path = other.path(), .end = other.end};
  channel_of_[peer] = channel;
}

void LanDriver::forget(LanChannel channel) {
  const auto found = channels_.find(channel);
  queue_pairs_->remove_channel(found->second.queue_pair);
  const auto known = channel_of_.find(found->second.peer);
  if (known != channel_of_.end() && known->second == channel) channel_of_.erase(known);
  channels_.erase(found);
}

void LanDriver::leave(LanChannel channel) {
  subnet_->disconnect(channel);
  forget(channel);
}

void LanDriver::leave_all() {
  while (!channels_.empty()) {
    const auto [channel, end] = *channels_.begin();
    leave(channel);
    if (end.up) {
      lan_->channel_down(end.peer, now_);
    } else {
      lan_->channel_refused(end.peer, now_);
    }
  }
}

void LanDriver::connect(lan::PeerId peer) {
  const lan::Peer& other = lan_->peers().get(peer);
  const auto queue_pair = queue_pairs_->add_channel(peer);
  if (!queue_pair) return not_made_.push_back(peer);
  const auto channel = subnet_->connect(other.port, other.path(), *queue_pair);
  if (channel) return keep(*channel, peer, *queue_pair);
  queue_pairs_->remove_channel(*queue_pair);
  not_made_.push_back(peer);
}

void LanDriver::disconnect(lan::PeerId peer) {
  const auto found = channel_of_.find(peer);
  if (found != channel_of_.end()) leave(found->second);
}

std::optional<Qpn> LanDriver::asked(LanChannel channel, const lan::Sender& sender) {
  wake();
  const Time now = io::now();
  const auto peer = lan_ ? lan_->peers().find(sender) : std::nullopt;
  if (!peer || !lan_->accept_channel(*peer, now)) return std::nullopt;
  disconnect(*peer);
  const auto queue_pair = queue_pairs_->add_channel(*peer);
  if (!queue_pair) {
    lan_->channel_refused(*peer, now);
    return std::nullopt;
  }
  keep(channel, *peer, *queue_pair);
  return *queue_pair;
}

bool LanDriver::modify(LanChannel channel, const mgmt::QpTransition& step) {
  const auto found = channels_.find(channel);
  return found != channels_.end() &&
         queue_pairs_->modify_channel(found->second.queue_pair, step.attributes, step.mask);
}

void LanDriver::connected(LanChannel channel) {
  wake();
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  if (!lan_->channel_up(found->second.peer, io::now())) return leave(channel);
  found->second.up = true;
  queue_pairs_->use_channel(found->second.queue_pair);
}

void LanDriver::ended(LanChannel channel, LanChannelEnd why) {
  wake();
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  const ChannelEnd end = found->second;
  forget(channel);
  const Time now = io::now();
  if (end.up) return lan_->channel_down(end.peer, now);
  lan_->channel_refused(end.peer, now);
  if (why == LanChannelEnd::kUnanswered) lan_->directory().path_failed(end.peer, now);
}

void LanDriver::channel_heard(lan::PeerId peer, Qpn queue_pair) {
  const auto known = channel_of_.find(peer);
  if (known == channel_of_.end()) return;
  if (channels_.at(known->second).queue_pair == queue_pair) subnet_->heard(known->second);
}

void LanDriver::peer_moved(lan::PeerId peer) {
  if (channel_of_.contains(peer)) moved_.push_back(peer);
}

bool LanDriver::catch_up() {
  if (not_made_.empty() && moved_.empty()) return false;
  for (const lan::PeerId peer : std::exchange(not_made_, {}))
    lan_->channel_refused(peer, now_);
  for (const lan::PeerId peer : std::exchange(moved_, {})) {
    const auto known = channel_of_.find(peer);
    if (known == channel_of_.end()) continue;
    const ChannelEnd end = channels_.at(known->second);
    const lan::Peer& now = lan_->peers().get(peer);
    if (end.path == now.path() && end.end == now.end) continue;
    leave(known->second);
    if (end.up) {
      lan_->channel_down(peer, now_);
    } else {
      lan_->channel_refused(peer, now_);
    }
  }
  return true;
}

}  // namespace weft::daemon
