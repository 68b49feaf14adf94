// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/address_offers.h"

#include <algorithm>

#include "daemon/lab/address_records.h"
#include "hca/types.h"
#include "io/clock.h"
#include "wire/sa/sa_header.h"

namespace weft::daemon {
namespace {

// For one answer, and how often it is asked again.
constexpr Duration kPatience = 250ms;
constexpr unsigned kRetries = 3;

// Offers are renewed long before their lease ends, so that one may be lost.
constexpr Duration kRenewAfter = std::chrono::seconds(kAddressLease / 3);
// Of one that was refused or not answered: there may be no room for it, or nobody there.
constexpr Duration kTryAfter = 5s;

}  // namespace

AddressOffers::AddressOffers(const LabHosts& hosts, std::size_t node, io::Reactor& reactor)
    : hosts_(hosts), node_(node), timer_(reactor.timers(), [this](Time now) { send_due(now); }) {
  for (unsigned number = 1; number <= this->node().port_count(); ++number) {
    const auto port = static_cast<mgmt::PortNumber>(number);
    const auto agent = this->node().management().mad_port(port).add_agent(
        {.mgmt_class = wire::MgmtClass::kSubnAdm, .class_version = wire::kSaClassVersion}, *this);
    if (agent) offers_.push_back({.port = port, .agent = *agent, .seen = {}});
  }
  this->node().add_observer(*this);
  for (unsigned port = 1; port <= this->node().port_count(); ++port)
    port_changed(static_cast<mgmt::PortNumber>(port), false);
}

AddressOffers::~AddressOffers() {
  node().remove_observer(*this);
  for (const Offer& offer : offers_)
    node().management().mad_port(offer.port).remove_agent(offer.agent);
}

AddressOffers::Seen AddressOffers::see(mgmt::PortNumber port) const {
  const wire::PortInfo info = node().port_info(port);
  if (info.state != wire::PortState::kActive || !hca::is_unicast(info.master_sm_lid)) return {};
  return {.lid = info.lid, .manager = info.master_sm_lid, .gid_prefix = info.gid_prefix};
}

void AddressOffers::port_changed(mgmt::PortNumber port, bool reregister) {
  const auto offer = std::ranges::find(offers_, port, &Offer::port);
  if (offer == offers_.end()) return;
  const Seen before = std::exchange(offer->seen, see(port));
  if (offer->seen == Seen{}) {
    offer->due = Time::max();
  } else if (reregister || offer->seen != before) {
    offer->due = io::now();
  }
  set_timer();
}

void AddressOffers::set_timer() {
  const auto first = std::ranges::min_element(offers_, {}, &Offer::due);
  if (first == offers_.end() || first->due == Time::max()) return timer_.cancel();
  timer_.set(first->due);
}

void AddressOffers::send_due(Time now) {
  for (Offer& offer : offers_) {
    if (offer.due <= now) send(offer, now);
  }
  set_timer();
}

void AddressOffers::send(Offer& offer, Time now) {
  const LabHosts::Place place{node_, offer.port};
  const wire::PortInfo info = node().port_info(offer.port);
  const auto mad = address_offer(hosts_.address_of(place), hosts_.gid_of(place), ++sent_);
  const mgmt::MadRequest request{
      .to = {.lid = info.master_sm_lid, .sl = info.master_sm_sl, .qpn = kQp1, .qkey = kGsiQKey},
      .mad = mad,
      .timeout = kPatience,
      .retries = kRetries,
      .cookie = sent_};
  // Whatever becomes of it says when the next one is due; until then, none is.
  offer.due = Time::max();
  const auto sent = node().management().mad_port(offer.port).send(offer.agent, request, now);
  node().management_used();
  if (!sent) offer.due = now + kTryAfter;
}

void AddressOffers::again_after(mgmt::AgentId agent, Duration wait) {
  const auto offer = std::ranges::find(offers_, agent, &Offer::agent);
  if (offer == offers_.end() || offer->seen == Seen{}) return;
  // It may have become due meanwhile, for another reason.
  offer->due = std::min(offer->due, io::now() + wait);
  set_timer();
}

void AddressOffers::received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) {
  const auto header = wire::MadHeader::parse(mad.mad);
  const bool taken = header && header->status == 0;
  if (mad.cookie) again_after(agent, taken ? kRenewAfter : kTryAfter);
}

void AddressOffers::finished(mgmt::AgentId agent, std::uint64_t, Bytes, mgmt::MadResult) {
  again_after(agent, kTryAfter);
}

}  // namespace weft::daemon
