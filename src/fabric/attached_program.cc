// SPDX-License-Identifier: Apache-2.0
#include "fabric/attached_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "fabric/program_port.h"
#include "fabric/sent_packet.h"
#include "link/iba_values.h"

namespace weft::fabric {
namespace {

// A sender that was told to wait is called again once so much is free, and not for every packet.
constexpr std::uint32_t kWorthwhile = AttachedProgram::kRoom / 4;

tl::unexpected<Error> not_its(Qpn qpn) {
  return fail(std::errc::invalid_argument,
              fmt::format("queue pair {}: is not this program's", qpn.value()));
}

Expected<void> not_raw(Qpn qpn) {
  return fail(std::errc::invalid_argument,
              fmt::format("queue pair {}: is no raw one of this program's", qpn.value()));
}

tl::unexpected<Error> too_many_queue_pairs() {
  return fail(std::errc::not_enough_memory,
              fmt::format("a program has at most {} queue pairs", kMostQueuePairs));
}

tl::unexpected<Error> too_many_joins() {
  return fail(std::errc::not_enough_memory,
              fmt::format("a program has at most {} members of multicast groups", kMostJoins));
}

}  // namespace

AttachedProgram::AttachedProgram(ProgramPort& port, Program& program)
    : port_(port), program_(program), room_(link::ReceiveBuffer::make(kRoom, 0, *this)) {
  port_.add(*this);
}

AttachedProgram::~AttachedProgram() {
  raw_.reset();
  for (const auto& [group, members] : groups_)
    port_.leave(*this, group);
  for (const Qpn qpn : queue_pairs_)
    port_.numbers().release(qpn);
  port_.counters().add_in_turn(NodeCounter::kNoQueuePair, waiting_.size());
  waiting_.clear();
  port_.remove(*this);
}

Expected<Qpn> AttachedProgram::allocate() {
  if (queue_pairs_.size() >= kMostQueuePairs) return too_many_queue_pairs();
  const auto qpn = port_.numbers().allocate(*this);
  if (!qpn) return fail(std::errc::not_enough_memory, "all queue pair numbers are in use");
  queue_pairs_.insert(*qpn);
  return *qpn;
}

Expected<void> AttachedProgram::release(Qpn qpn) {
  if (!owns(qpn)) return not_its(qpn);
  forget(qpn);
  port_.numbers().release(qpn);
  return {};
}

Expected<void> AttachedProgram::hand_over(Qpn qpn, Attachment& to) {
  if (!owns(qpn)) return not_its(qpn);
  Groups groups;
  for (const auto& [group, members] : groups_) {
    if (members.contains(qpn)) groups.push_back(group);
  }
  if (auto taken = to.take_over(qpn, groups); !taken) return taken;
  forget(qpn);
  return {};
}

Expected<void> AttachedProgram::take_over(Qpn qpn, const Groups& groups) {
  if (queue_pairs_.size() >= kMostQueuePairs) return too_many_queue_pairs();
  if (joins_ + groups.size() > kMostJoins) return too_many_joins();
  queue_pairs_.insert(qpn);
  port_.numbers().give(qpn, *this);
  for (const Gid& group : groups) {
    [[maybe_unused]] const auto joined = join(qpn, group);
    assert(joined);
  }
  return {};
}

void AttachedProgram::forget(Qpn qpn) {
  if (is_raw(qpn)) raw_->remove(qpn);
  queue_pairs_.erase(qpn);
  last_source_ = {};
  for (auto group = groups_.begin(); group != groups_.end();) {
    joins_ -= group->second.erase(qpn);
    if (!group->second.empty()) {
      ++group;
      continue;
    }
    port_.leave(*this, group->first);
    group = groups_.erase(group);
  }
  if (lately_.size() == kLately) lately_.pop_front();
  lately_.push_back(qpn);
}

Expected<void> AttachedProgram::join(Qpn qpn, const Gid& group) {
  if (!owns(qpn)) return not_its(qpn);
  if (group.bytes()[0] != 0xFF) {  // IBA 4.1.1
    return fail(std::errc::invalid_argument,
                fmt::format("{}: is no multicast GID", group.to_string()));
  }
  const auto members = groups_.find(group);
  if (members != groups_.end() && members->second.contains(qpn)) return {};
  if (joins_ >= kMostJoins) return too_many_joins();
  if (members == groups_.end()) port_.join(*this, group);
  groups_[group].insert(qpn);
  ++joins_;
  return {};
}

Expected<void> AttachedProgram::leave(Qpn qpn, const Gid& group) {
  const auto members = groups_.find(group);
  if (members == groups_.end() || members->second.erase(qpn) == 0) {
    return fail(std::errc::invalid_argument,
                fmt::format("queue pair {}: is no member of {}", qpn.value(), group.to_string()));
  }
  --joins_;
  if (!members->second.empty()) return {};
  port_.leave(*this, group);
  groups_.erase(members);
  return {};
}

std::uint32_t AttachedProgram::epoch() const {
  return port_.epoch();
}

bool AttachedProgram::was_lately(Qpn qpn) const {
  return std::find(lately_.begin(), lately_.end(), qpn) != lately_.end();
}

Expected<void> AttachedProgram::make_raw(Qpn qpn) {
  if (!owns(qpn)) return not_its(qpn);
  if (is_raw(qpn)) return {};
  auto port = port_.raw_port();
  if (!port) return tl::unexpected(port.error());
  if (raw_ == nullptr) {
    RawQueuePairs::Owner& owner = *this;
    raw_ = std::make_unique<RawQueuePairs>(*port->port, owner, *port->entropy);
    raw_->set_stuck(stuck_);
  }
  return raw_->add(qpn);
}

Expected<void> AttachedProgram::divert(Qpn qpn, const RawRule& rule) {
  return is_raw(qpn) ? raw_->divert(qpn, rule) : not_raw(qpn);
}

Expected<void> AttachedProgram::restore(Qpn qpn, const RawRule& rule) {
  return is_raw(qpn) ? raw_->restore(qpn, rule) : not_raw(qpn);
}

// What it says of itself is whatever it says, so older facts of the port matter only where its
// neighbour takes shorter packets by now.
Sent AttachedProgram::send_raw(link::PacketPtr& packet, Qpn source, std::uint32_t epoch, Time now) {
  const std::uint8_t mtu = port_.port().link().neighbor_mtu();
  if (epoch < port_.epoch() && packet->size() > link::longest_packet(mtu)) {
    port_.counters().add_in_turn(NodeCounter::kOutdated);
    packet.reset();
    return Sent::kTaken;
  }
  const Vl vl = port_.lane(packet->lrh().sl);
  if (vl != link::kVl15) {
    packet->hold = room_->take(vl, packet->blocks());
    if (!packet->hold) {
      blocked_ |= link::bit(vl);
      return Sent::kNotNow;
    }
  }
  return raw_->send(source, std::move(packet), now);
}

Sent AttachedProgram::send(link::PacketPtr& packet, Qpn source, std::uint32_t epoch, Time now) {
  if (is_raw(source)) return send_raw(packet, source, epoch, now);
  const auto drop = [&](NodeCounter reason) {
    port_.counters().add_in_turn(reason);
    packet.reset();
    return Sent::kTaken;
  };
  const auto forged = [&] {
    drop(NodeCounter::kForged);
    return Sent::kForged;
  };
  SentPacket sent;
  if (!sent.read(*packet, source) || epoch > port_.epoch()) return forged();
  if (source != last_source_ || source == Qpn{}) {
    if (!queue_pairs_.contains(source)) {
      return was_lately(source) ? drop(NodeCounter::kOutdated) : forged();
    }
    last_source_ = source;
  }
  const bool active = port_.port().link().state() == link::PortState::kActive;
  // Where nothing is sent, it matters to nobody; and there may be no LID yet to send from.
  if (active && !sent.agrees_with(port_.port())) {
    return epoch == port_.epoch() ? forged() : drop(NodeCounter::kOutdated);
  }
  const Vl vl = port_.lane(sent.sl);
  if (vl == link::kVl15) return drop(NodeCounter::kNoVl);
  packet->intact = true;
  packet->hold = room_->take(vl, packet->blocks());
  if (!packet->hold) {
    blocked_ |= link::bit(vl);
    return Sent::kNotNow;
  }
  port_.transmit(std::move(packet), sent, vl, now);
  return Sent::kTaken;
}

void AttachedProgram::space_freed(Vl vl) {
  if ((blocked_ & link::bit(vl)) != 0 && room_->free(vl) >= kWorthwhile) port_.wake(*this);
}

void AttachedProgram::run(Time now) {
  if (!waiting_.empty() && now >= waiting_.front()->arrived_at + kProgramPatience) {
    set_stuck(true);
    drop_waiting();
  }
  for (std::uint16_t lanes = std::exchange(blocked_, std::uint16_t{0}); lanes != 0;
       lanes &= static_cast<std::uint16_t>(lanes - 1)) {
    const Vl vl{static_cast<std::uint8_t>(link::lowest_lane(lanes))};
    if (room_->free(vl) >= kWorthwhile) return program_.may_send(now);
    blocked_ |= link::bit(vl);
  }
}

std::optional<Time> AttachedProgram::deadline() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front()->arrived_at + kProgramPatience;
}

void AttachedProgram::arrive(link::PacketPtr packet, Time now) {
  arrive_for(std::move(packet), Qpn{}, now);
}

void AttachedProgram::arrive_for(link::PacketPtr packet, Qpn raw, Time now) {
  NodeCounters& counters = port_.counters();
  if (stuck_) return counters.add_in_turn(NodeCounter::kProgramStuck);
  if (waiting_.empty() && hand_over(packet, raw, now)) return;
  if (!may_wait(*packet)) return counters.add_in_turn(NodeCounter::kProgramFull);
  packet->arrived_at = now;
  waiting_blocks_[packet->vl().value()] += packet->blocks();
  waiting_.push(std::move(packet));
  waiting_raw_.push_back(raw);
  port_.reschedule();
}

bool AttachedProgram::hand_over(link::PacketPtr& packet, Qpn raw, Time now) {
  // What the program has no longer takes up space here, however long it keeps it.
  link::BufferHold hold = std::move(packet->hold);
  if (raw == Qpn{}) {
    program_.deliver(packet, now);
  } else {
    program_.deliver_raw(packet, raw, now);
  }
  if (packet != nullptr) {
    packet->hold = std::move(hold);
    return false;
  }
  port_.counters().add_in_turn(NodeCounter::kDelivered);
  return true;
}

// All programs of a port share its receive buffer, and a full one stops the sender for all. A
// program alone may fill it; among others it gets no more than it leaves to them, so that each that
// is slow leaves room for those that are not.
bool AttachedProgram::may_wait(const link::Packet& packet) const {
  if (port_.programs() == 1) return true;
  const Vl vl = packet.vl();
  const std::uint32_t held = waiting_blocks_[vl.value()] + packet.blocks();
  return held <= port_.port().link().receive_room(vl);
}

link::PacketPtr AttachedProgram::next_waiting() {
  link::PacketPtr packet = waiting_.pop();
  waiting_blocks_[packet->vl().value()] -= packet->blocks();
  return packet;
}

void AttachedProgram::drop_waiting() {
  port_.counters().add_in_turn(NodeCounter::kProgramStuck, waiting_.size());
  waiting_blocks_.fill(0);
  waiting_raw_.clear();
  waiting_.clear();
}

void AttachedProgram::set_stuck(bool stuck) {
  if (stuck == stuck_) return;
  stuck_ = stuck;
  if (raw_ != nullptr) raw_->set_stuck(stuck);
}

void AttachedProgram::resume(Time now) {
  set_stuck(false);
  while (!waiting_.empty()) {
    link::PacketPtr packet = next_waiting();
    if (hand_over(packet, waiting_raw_.front(), now)) {
      waiting_raw_.pop_front();
      continue;
    }
    waiting_blocks_[packet->vl().value()] += packet->blocks();
    waiting_.push_front(std::move(packet));
    break;
  }
  port_.reschedule();
}

}  // namespace weft::fabric
