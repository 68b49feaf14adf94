// SPDX-License-Identifier: Apache-2.0
#include "fabric/raw_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fabric/packet_view.h"
#include "fabric/sent_packet.h"
#include "link/iba_values.h"

namespace weft::fabric {

RawPort::RawPort(Adapter& adapter, NodePort& port, Worker& worker, link::PacketPool& pool)
    : adapter_(adapter), port_(port), worker_(worker), pool_(pool) {
  changed();
}

void RawPort::changed() {
  ++revision_;
  const wire::PortInfo info = port_.port_info();
  // What a subnet manager may set: it never fails.
  [[maybe_unused]] const auto lids = filter_.set_own_lids(info.lid, info.lmc);
  [[maybe_unused]] const auto gids = filter_.set_own_gids(port_.gids());
}

Expected<RawPort::Set> RawPort::open(Entropy& entropy, Sharing sharing) {
  if (free_.empty() && sets_.size() == kMostSets) {
    return fail(std::errc::not_enough_memory,
                fmt::format("a port has at most {} sets of raw queues", kMostSets));
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint16_t>(sets_.size()));
    sets_.emplace_back();
  }
  const std::uint16_t number = free_.back();
  free_.pop_back();
  sets_[number] = std::make_unique<Queues>(entropy, sharing);
  return Set{number};
}

void RawPort::close(Set set) {
  auto& queues = sets_[set.value()];
  for (const RawRule& rule : queues->rules) {
    [[maybe_unused]] const auto cleared = clear_rule(rule);
  }
  port_.counters().add_in_turn(NodeCounter::kRawNoQueue, queues->looped.size());
  queues.reset();
  free_.push_back(set.value());
}

Expected<void> RawPort::divert(Set set, const RawRule& rule) {
  auto& rules = sets_[set.value()]->rules;
  if (std::find(rules.begin(), rules.end(), rule) != rules.end()) return {};
  if (auto diverted = set_rule(rule, set); !diverted) return diverted;
  rules.push_back(rule);
  return {};
}

Expected<void> RawPort::restore(Set set, const RawRule& rule) {
  if (std::erase(sets_[set.value()]->rules, rule) == 0) {
    return fail(std::errc::invalid_argument, "nothing goes to these raw queues by that rule");
  }
  return clear_rule(rule);
}

std::optional<RawPort::Set> RawPort::shared_set_of(const RawRule& rule) const {
  for (std::size_t number = 0; number < sets_.size(); ++number) {
    if (sets_[number] == nullptr || sets_[number]->sharing == Sharing::kOwn) continue;
    const auto& rules = sets_[number]->rules;
    if (std::find(rules.begin(), rules.end(), rule) != rules.end()) {
      return Set{static_cast<std::uint16_t>(number)};
    }
  }
  return std::nullopt;
}

namespace {

// Those rules of which a port has one.
Expected<void> replace(const std::optional<hca::QueueSet>& now, std::string_view what) {
  if (!now) return {};
  return fail(std::errc::file_exists, fmt::format("{}: goes to other raw queues already", what));
}

}  // namespace

Expected<void> RawPort::set_rule(const RawRule& rule, Set set) {
  ++revision_;
  if (const Lid* const lid = std::get_if<Lid>(&rule)) return filter_.divert_lid(*lid, set);
  if (const auto* const gids = std::get_if<GidPrefix>(&rule)) {
    return filter_.divert_gids(*gids, set);
  }
  if (std::holds_alternative<OtherLids>(rule)) {
    auto free = replace(filter_.other_lids(), "what is not for the port's LIDs");
    if (free) filter_.divert_other_lids(set);
    return free;
  }
  if (std::holds_alternative<OtherGids>(rule)) {
    auto free = replace(filter_.other_gids(), "what is not for the port's GIDs");
    if (free) filter_.divert_other_gids(set);
    return free;
  }
  auto free = replace(filter_.watcher(), "a copy of everything");
  if (free) filter_.watch(set);
  return free;
}

Expected<void> RawPort::clear_rule(const RawRule& rule) {
  ++revision_;
  if (const Lid* const lid = std::get_if<Lid>(&rule)) return filter_.restore_lid(*lid);
  if (const auto* const gids = std::get_if<GidPrefix>(&rule)) return filter_.restore_gids(*gids);
  if (std::holds_alternative<OtherLids>(rule)) filter_.divert_other_lids(std::nullopt);
  if (std::holds_alternative<OtherGids>(rule)) filter_.divert_other_gids(std::nullopt);
  if (std::holds_alternative<Everything>(rule)) filter_.watch(std::nullopt);
  return {};
}

Expected<std::uint16_t> RawPort::add_queue(Set set, RawQueue& queue, std::optional<unsigned> core) {
  Queues& queues = *sets_[set.value()];
  const auto free = std::find(queues.queues.begin(), queues.queues.end(), nullptr);
  const auto number = static_cast<std::uint16_t>(free - queues.queues.begin());
  if (auto added = queues.scaling.add(number, core); !added) {
    return tl::unexpected(added.error());
  }
  if (free == queues.queues.end()) {
    queues.queues.push_back(&queue);
  } else {
    *free = &queue;
  }
  ++revision_;
  return number;
}

void RawPort::remove_queue(Set set, std::uint16_t queue) {
  Queues& queues = *sets_[set.value()];
  queues.queues[queue] = nullptr;
  [[maybe_unused]] const auto removed = queues.scaling.remove(queue);
  ++revision_;
}

bool RawPort::is_served(Lid dlid) const {
  const std::uint64_t here = port_.port_info().gid_prefix;
  const auto takes = [&](const RawRule& rule) {
    if (const Lid* const lid = std::get_if<Lid>(&rule)) return *lid == dlid;
    if (std::holds_alternative<OtherLids>(rule)) return !filter_.owns(dlid);
    if (std::holds_alternative<OtherGids>(rule)) return true;
    const auto* const gids = std::get_if<GidPrefix>(&rule);
    return gids != nullptr && (gids->bits() == 0 || *gids == GidPrefix(here));
  };
  bool served = false;
  for (const auto& set : sets_) {
    if (set == nullptr || set->sharing == Sharing::kOwn) continue;
    if (std::none_of(set->rules.begin(), set->rules.end(), takes)) continue;
    for (const RawQueue* const queue : set->queues) {
      if (queue == nullptr) continue;
      if (queue->is_stuck()) return false;
      served = true;
    }
  }
  return served;
}

void RawPort::drained(Set set, std::uint16_t queue) {
  sets_[set.value()]->scaling.drained(queue);
}

std::size_t RawPort::queues(Set set) const {
  return sets_[set.value()]->scaling.queues();
}

void RawPort::steer(link::PacketPtr& packet, std::optional<Set> from, Time now) {
  const Bytes header = std::as_const(*packet).header();
  const auto steered = filter_.steer(packet->lrh(), header.subspan(wire::Lrh::kSize));
  if (!steered.raw || steered.raw == from) return;
  link::PacketPtr raw;
  if (steered.engine) {
    raw = pool_.replicate(*packet);
    if (raw == nullptr) return port_.counters().add_in_turn(NodeCounter::kNoPacket);
    port_.counters().add_in_turn(NodeCounter::kReplicated);
  } else {
    raw = std::move(packet);
  }
  deliver(*steered.raw, std::move(raw), now);
}

void RawPort::deliver(Set set, link::PacketPtr packet, Time now) {
  NodeCounters& counters = port_.counters();
  Queues& queues = *sets_[set.value()];
  if (packet->sealed && !packet->icrc_good()) {
    return counters.add_in_turn(NodeCounter::kRawBadIcrc);
  }
  std::optional<std::uint16_t> queue;
  if (queues.scaling.queues() == 1) {
    queue = queues.scaling.queue_for(0);
  } else if (queues.scaling.queues() > 1) {
    const link::Packet& whole = *packet;
    queue = queues.scaling.queue_for(
        queues.scaling.hash(hca::flow_of(whole.header(), whole.payload())));
  }
  if (!queue) return counters.add_in_turn(NodeCounter::kRawNoQueue);
  counters.add_in_turn(NodeCounter::kDiverted);
  queues.queues[*queue]->arrive(std::move(packet), now);
}

Sent RawPort::send(Set from, link::PacketPtr packet, Time now) {
  NodeCounters& counters = port_.counters();
  link::Port& link = port_.link();
  SentPacket sent;
  if (!sent.read_raw(*packet) || sent.size > link::longest_packet(link.neighbor_mtu())) {
    counters.add_in_turn(NodeCounter::kForged);
    return Sent::kForged;
  }
  const Vl vl = adapter_.lane(port_, sent.sl);
  if (vl == link::kVl15) {
    counters.add_in_turn(NodeCounter::kNoVl);
    return Sent::kTaken;
  }
  packet->intact = true;
  packet->arrived_at = now;
  counters.add_in_turn(NodeCounter::kSent);
  const bool active = link.state() == link::PortState::kActive;
  if (!active || (!port_.owns(sent.dlid) && !filter_.diverts(sent.dlid))) {
    // What cannot be sent is the link's to drop and to count.
    link.transmit(std::move(packet), vl, now);
    return Sent::kTaken;
  }
  if (packet->vl() != vl) packet->rewrite_vl(vl);
  counters.add_in_turn(NodeCounter::kLooped);
  sets_[from.value()]->looped.push(std::move(packet));
  worker_.wake(*this);
  return Sent::kTaken;
}

// What is looped by these waits for the next turn.
void RawPort::run(Time now) {
  for (std::size_t number = 0; number < sets_.size(); ++number) {
    if (sets_[number] == nullptr) continue;
    const Set set{static_cast<std::uint16_t>(number)};
    for (std::size_t left = sets_[number]->looped.size(); left > 0; --left) {
      link::PacketPtr packet = sets_[number]->looped.pop();
      steer(packet, set, now);
      if (packet != nullptr) adapter_.to_engine(port_, std::move(packet), now);
    }
  }
  for (Client* client : clients_)
    client->run(now);
}

void RawPort::remove(Client& client, std::size_t dropped) {
  std::erase(clients_, &client);
  port_.counters().add_in_turn(NodeCounter::kRawNoQueue, dropped);
}

}  // namespace weft::fabric
