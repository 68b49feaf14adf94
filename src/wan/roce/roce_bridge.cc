// SPDX-License-Identifier: Apache-2.0
#include "wan/roce/roce_bridge.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace weft::wan {
namespace {

using link::PortState;
using Kind = HostFrame::Kind;

}  // namespace

RoceBridge::RoceBridge(const RoceOptions& options, link::PacketPool& pool, RoceUser& user)
    : options_(options),
      pool_(pool),
      user_(user),
      stations_(options.stations),
      allowance_(Allowance::per_second(options.questions)) {
}

std::uint32_t RoceBridge::add_site() {
  link::PortOptions port = options_.port;
  port.number = static_cast<std::uint8_t>(sites_.size() + 1);
  link::PortOwner& owner = *this;
  sites_.push_back({.port = std::make_unique<link::Port>(port, owner),
                    .allowance = Allowance::per_second(options_.questions),
                    .waiting = std::make_unique<link::PacketQueue>()});
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

bool RoceBridge::is_carried(const HostFrame& frame) {
  if (frame.kind == Kind::kMalformed) count(RoceCounter::kMalformed);
  if (frame.kind == Kind::kOther) count(RoceCounter::kOther);
  return frame.kind == Kind::kRoce || frame.kind == Kind::kResolution;
}

bool RoceBridge::learn(const HostFrame& frame, Stations::Place place, RoceCounter conflict,
                       Time now) {
  const Stations::Learnt learnt = stations_.heard(frame.source, place, now);
  if (learnt == Stations::Learnt::kForgot) count(RoceCounter::kStations);
  if (learnt == Stations::Learnt::kConflict) count(conflict);
  return learnt != Stations::Learnt::kConflict;
}

void RoceBridge::from_hosts(Bytes frame, Time now) {
  const HostFrame read = HostFrame::read(frame);
  if (!is_carried(read)) return;
  if (!learn(read, Stations::kHere, RoceCounter::kLooped, now)) return;
  if (read.to_group()) {
    if (read.kind == Kind::kResolution && !allowance_.take(now)) {
      return count(RoceCounter::kTooMany);
    }
    for (const Site& site : sites_)
      send(read, *site.port, now);
    return;
  }
  const auto place = stations_.find(read.destination, now);
  if (!place) return count(RoceCounter::kUnknown);
  if (*place == Stations::kHere) return count(RoceCounter::kHere);
  send(read, *sites_[*place - 1].port, now);
}

void RoceBridge::send(const HostFrame& frame, link::Port& site, Time now) {
  if (site.state() != PortState::kActive) return count(RoceCounter::kSiteDown);
  // Each class of DSCP (RFC 2474, 4.2.2) has a lane, as far as there are so many.
  const auto lane_class = static_cast<std::uint8_t>(frame.traffic_class >> 5);
  const Vl vl{
      std::min<std::uint8_t>(lane_class, static_cast<std::uint8_t>(site.operational_vls() - 1))};
  const std::size_t backlog = site.backlog(vl);
  if (backlog >= options_.most) return count(RoceCounter::kTooMuch);
  const bool mark = frame.kind == Kind::kRoce && backlog >= options_.marked;
  auto packet = raw_packet(frame, vl, mark, pool_);
  if (packet == nullptr) return count(RoceCounter::kNoMemory);
  packet->intact = true;
  count(frame.kind == Kind::kRoce ? RoceCounter::kOut : RoceCounter::kAsked);
  if (mark) count(RoceCounter::kMarked);
  site.transmit(std::move(packet), vl, now);
}

void RoceBridge::received(link::Port& port, link::PacketPtr packet, Time now) {
  const std::size_t site = port.number() - 1u;
  sites_[site].waiting->push(std::move(packet));
  deliver_waiting(site, now);
}

void RoceBridge::deliver_waiting(std::size_t site, Time now) {
  link::PacketQueue& waiting = *sites_[site].waiting;
  while (!waiting.empty() && deliver(*waiting.front(), site, now))
    std::ignore = waiting.pop();
}

bool RoceBridge::deliver(const link::Packet& packet, std::size_t site, Time now) {
  const MutableBytes room = user_.room();
  if (room.empty()) return false;
  const HostFrame frame = carried_frame(packet, room);
  if (!is_for_hosts(frame, site, now)) return true;
  count(frame.kind == Kind::kRoce ? RoceCounter::kIn : RoceCounter::kAsked);
  user_.put(frame.bytes);
  return true;
}

bool RoceBridge::is_for_hosts(const HostFrame& frame, std::size_t site, Time now) {
  if (!is_carried(frame)) return false;
  const auto place = static_cast<Stations::Place>(site + 1);
  if (!learn(frame, place, RoceCounter::kForeign, now)) return false;
  if (frame.to_group()) {
    if (frame.kind == Kind::kRoce || sites_[site].allowance.take(now)) return true;
    count(RoceCounter::kTooMany);
    return false;
  }
  if (stations_.find(frame.destination, now).value_or(Stations::kHere) == Stations::kHere) {
    return true;
  }
  count(RoceCounter::kNotHere);
  return false;
}

void RoceBridge::drop_waiting() {
  for (const Site& site : sites_)
    site.waiting->clear();
}

std::size_t RoceBridge::waiting() const {
  std::size_t packets = 0;
  for (const Site& site : sites_)
    packets += site.waiting->size();
  return packets;
}

void RoceBridge::state_changed(link::Port&, PortState, Time) {
  wake();
}

void RoceBridge::wake(link::Port&) {
  wake();
}

void RoceBridge::wake() {
  if (!std::exchange(woken_, true)) user_.wake();
}

void RoceBridge::run(Time now) {
  woken_ = true;
  for (std::size_t site = 0; site < sites_.size(); ++site)
    deliver_waiting(site, now);
  for (const Site& site : sites_) {
    site.port->run(now);
    // What a subnet manager does to a port. Active waits for the other end to be armed.
    if (site.port->state() == PortState::kInitialize &&
        site.port->set_state(PortState::kArmed, now)) {
      site.port->set_state(PortState::kActive, now);
    }
  }
  woken_ = false;
  for (const Site& site : sites_)
    site.port->run(now);
}

std::optional<Time> RoceBridge::deadline() const {
  std::optional<Time> first;
  for (const Site& site : sites_) {
    const auto due = site.port->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

}  // namespace weft::wan
