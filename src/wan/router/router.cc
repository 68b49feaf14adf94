// SPDX-License-Identifier: Apache-2.0
#include "wan/router/router.h"

#include <utility>

#include "wan/router/global_packet.h"

namespace weft::wan {
namespace {

using link::PortState;

constexpr std::uint16_t kFullMember = 0x8000;  // of a P_Key

}  // namespace

Router::Router(const RouterOptions& options, RouterUser& user)
    : options_(options), user_(user), paths_(options.paths, *this) {
}

std::uint32_t Router::add_site() {
  link::PortOptions port = options_.port;
  port.number = static_cast<std::uint8_t>(sites_.size() + 1);
  link::PortOwner& owner = *this;
  sites_.push_back(std::make_unique<link::Port>(port, owner));
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

void Router::from_subnet(link::PacketPtr packet, Time now) {
  RouterCounter flaw{};
  const auto read = GlobalPacket::read(*packet, flaw);
  if (!read) return drop(flaw);
  if (subnet_.covers(read->grh.dgid)) return drop(RouterCounter::kNotAway);
  if (!subnet_.covers(read->grh.sgid)) return drop(RouterCounter::kForeign);
  // IBA 19.2: one hop less, and who has none left goes no further.
  if (read->grh.hop_limit <= 1) return drop(RouterCounter::kHopLimit);
  const auto to = prefixes_.find(read->grh.dgid);
  if (!to) return drop(RouterCounter::kNoRoute);
  link::Port& site = *sites_[*to];
  if (site.state() != PortState::kActive) return drop(RouterCounter::kSiteDown);
  rewrite_hop_limit(*packet, static_cast<std::uint8_t>(read->grh.hop_limit - 1));
  counters_.add_in_turn(RouterCounter::kOut);
  const Vl vl = packet->vl();
  site.transmit(std::move(packet), vl, now);
}

void Router::received(link::Port&, link::PacketPtr packet, Time now) {
  RouterCounter flaw{};
  const auto read = GlobalPacket::read(*packet, flaw);
  if (!read) return drop(flaw);
  if (!subnet_.covers(read->grh.dgid)) return drop(RouterCounter::kNotHere);
  if (subnet_.covers(read->grh.sgid)) return drop(RouterCounter::kForeign);
  if (read->grh.hop_limit == 0) return drop(RouterCounter::kHopLimit);
  const PKey partition(static_cast<std::uint16_t>(read->bth.pkey.value() | kFullMember));
  paths_.send({.dgid = read->grh.dgid, .pkey = partition}, std::move(packet), now);
}

bool Router::ask(std::uint64_t number, const PathQuestion& question, Time now) {
  if (!user_.ask(number, question, now)) return false;
  counters_.add_in_turn(RouterCounter::kAsked);
  return true;
}

void Router::ready(link::PacketPtr packet, const LocalPath& path, Time now) {
  wire::Lrh lrh = packet->lrh();
  lrh.dlid = path.dlid;
  lrh.slid = path.slid;
  lrh.sl = path.sl;
  packet->rewrite_lrh(lrh);
  counters_.add_in_turn(RouterCounter::kIn);
  user_.into_subnet(std::move(packet), path.port, now);
}

void Router::lost(NoPath why, std::size_t packets) {
  const auto reason = [why] {
    switch (why) {
      case NoPath::kAbsent:
        return RouterCounter::kNoPath;
      case NoPath::kUnanswered:
        return RouterCounter::kUnanswered;
      case NoPath::kTooMany:
        break;
    }
    return RouterCounter::kTooMany;
  }();
  counters_.add_in_turn(reason, packets);
}

void Router::state_changed(link::Port&, PortState, Time) {
  wake();
}

void Router::wake(link::Port&) {
  wake();
}

void Router::wake() {
  if (!std::exchange(woken_, true)) user_.wake();
}

void Router::run(Time now) {
  woken_ = true;
  for (const auto& site : sites_) {
    site->run(now);
    // What a subnet manager does to a port. Active waits for the other end to be armed.
    if (site->state() == PortState::kInitialize && site->set_state(PortState::kArmed, now)) {
      site->set_state(PortState::kActive, now);
    }
  }
  paths_.run(now);
  woken_ = false;
  for (const auto& site : sites_)
    site->run(now);
}

std::optional<Time> Router::deadline() const {
  std::optional<Time> first = paths_.deadline();
  for (const auto& site : sites_) {
    const auto due = site->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

}  // namespace weft::wan
