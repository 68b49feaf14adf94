// SPDX-License-Identifier: Apache-2.0
#include "wan/router/router.h"

#include <utility>

#include "base/ids.h"
#include "wan/router/global_packet.h"

namespace weft::wan {
namespace {

using link::PortState;

// A site behind which more packets wait is not told anything besides.
constexpr std::size_t kMostBacklog = 1'000;

}  // namespace

Router::Router(const RouterOptions& options, link::PacketPool& pool, RouterUser& user)
    : options_(options),
      pool_(pool),
      user_(user),
      paths_(options.paths, *this),
      groups_(options.groups) {
}

std::uint32_t Router::add_site() {
  link::PortOptions port = options_.port;
  port.number = static_cast<std::uint8_t>(sites_.size() + 1);
  link::PortOwner& owner = *this;
  sites_.push_back(std::make_unique<link::Port>(port, owner));
  up_.push_back(false);
  groups_.add_site();
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
  if (read->grh.dgid.is_multicast()) return to_sites(std::move(packet), *read, now);
  const auto to = prefixes_.find(read->grh.dgid);
  if (!to) return drop(RouterCounter::kNoRoute);
  link::Port& site = *sites_[*to];
  if (site.state() != PortState::kActive) return drop(RouterCounter::kSiteDown);
  rewrite_hop_limit(*packet, static_cast<std::uint8_t>(read->grh.hop_limit - 1));
  counters_.add_in_turn(RouterCounter::kOut);
  const Vl vl = packet->vl();
  site.transmit(std::move(packet), vl, now);
}

void Router::received(link::Port& port, link::PacketPtr packet, Time now) {
  const std::uint32_t site = port.number() - 1u;
  if (is_group_interest(packet->header())) return take_interest(site, *packet, now);
  RouterCounter flaw{};
  const auto read = GlobalPacket::read(*packet, flaw);
  if (!read) return drop(flaw);
  const bool to_many = read->grh.dgid.is_multicast();
  if (!to_many && !subnet_.covers(read->grh.dgid)) return drop(RouterCounter::kNotHere);
  if (subnet_.covers(read->grh.sgid)) return drop(RouterCounter::kForeign);
  if (read->grh.hop_limit == 0) return drop(RouterCounter::kHopLimit);
  // Of a group that several sites are in, a packet comes from where its sender is.
  if (to_many && prefixes_.find(read->grh.sgid) != site) return drop(RouterCounter::kForeign);
  if (to_many) return to_group(std::move(packet), read->grh, now);
  const PKey partition(static_cast<std::uint16_t>(read->bth.pkey.value() | kFullMemberBit));
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

void Router::set_groups(const std::vector<LocalGroup>& groups, Time now) {
  groups_.set_local(groups, now);
  wake();
}

// The first of them gets the packet itself, the others copies of it.
void Router::to_sites(link::PacketPtr packet, const GlobalPacket& read, Time now) {
  std::optional<std::uint32_t> first;
  rewrite_hop_limit(*packet, static_cast<std::uint8_t>(read.grh.hop_limit - 1));
  for (std::uint32_t site = 0; site < sites_.size(); ++site) {
    const bool up = sites_[site]->state() == PortState::kActive;
    if (!up || !groups_.wants(site, read.grh.dgid, now)) continue;
    if (!first) {
      first = site;
    } else if (link::PacketPtr copy = pool_.replicate(*packet)) {
      to_site(site, std::move(copy), now);
    } else {
      counters_.add_in_turn(RouterCounter::kNoCopy);
    }
  }
  if (!first) return drop(RouterCounter::kNotWanted);
  counters_.add_in_turn(RouterCounter::kGroupOut);
  to_site(*first, std::move(packet), now);
}

void Router::to_site(std::uint32_t index, link::PacketPtr packet, Time now) {
  counters_.add_in_turn(RouterCounter::kCopies);
  const Vl vl = packet->vl();
  sites_[index]->transmit(std::move(packet), vl, now);
}

void Router::to_group(link::PacketPtr packet, const wire::Grh& grh, Time now) {
  const LocalGroup* const group = groups_.find_local(grh.dgid);
  if (group == nullptr) return drop(RouterCounter::kNoGroup);
  wire::Lrh lrh = packet->lrh();
  lrh.dlid = group->mlid;
  lrh.slid = group->slid;
  lrh.sl = group->sl;
  packet->rewrite_lrh(lrh);
  counters_.add_in_turn(RouterCounter::kGroupIn);
  user_.into_subnet(std::move(packet), group->port, now);
}

void Router::take_interest(std::uint32_t site, const link::Packet& packet, Time now) {
  std::vector<std::byte> bytes(packet.size());
  packet.copy_to(bytes);
  const auto interest = GroupInterest::parse(bytes);
  const bool taken = interest && groups_.heard(site, *interest, now);
  counters_.add_in_turn(taken ? RouterCounter::kInterest : RouterCounter::kBadInterest);
}

void Router::tell_sites(Time now) {
  for (std::uint32_t site = 0; site < sites_.size(); ++site) {
    while (const auto interest = groups_.tell(site, now)) {
      auto packet = pool_.copy(interest->write());
      // What cannot be said now is repeated later.
      if (packet == nullptr || sites_[site]->backlog(Vl{0}) >= kMostBacklog) continue;
      counters_.add_in_turn(RouterCounter::kTold);
      sites_[site]->transmit(std::move(packet), Vl{0}, now);
    }
  }
}

void Router::look_at_sites(Time now) {
  for (std::uint32_t site = 0; site < sites_.size(); ++site) {
    const bool up = sites_[site]->state() == PortState::kActive;
    if (up == up_[site]) continue;
    up_[site] = up;
    groups_.site_changed(site, up, now);
  }
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
  look_at_sites(now);
  tell_sites(now);
  paths_.run(now);
  woken_ = false;
  for (const auto& site : sites_)
    site->run(now);
}

std::optional<Time> Router::deadline() const {
  std::optional<Time> first = paths_.deadline();
  if (const auto due = groups_.deadline(); due && (!first || *due < *first)) first = due;
  for (const auto& site : sites_) {
    const auto due = site->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

}  // namespace weft::wan
