// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/address_offers.h"

#include <utility>

#include "daemon/lab/address_records.h"

namespace weft::daemon {
namespace {

constexpr Duration kAddressOffersRenewAfter = std::chrono::seconds(kAddressLease / 3);
constexpr Duration kAddressOffersTryAfter = 5s;

}  // namespace

AddressOffers::AddressOffers(const LabHosts& hosts, std::size_t node, io::Reactor& reactor) {
  fabric::Node& at = hosts.fabric().node(node);
  for (unsigned number = 1; number <= at.port_count(); ++number) {
    const auto port = static_cast<mgmt::PortNumber>(number);
    StandingRequest::Wish wish{.make =
                                   [&hosts, node, port](std::uint32_t transaction) {
                                     const LabHosts::Place place{node, port};
                                     return address_offer(hosts.address_of(place),
                                                          hosts.gid_of(place), transaction);
                                   },
                               .renew_after = kAddressOffersRenewAfter,
                               .try_after = kAddressOffersTryAfter,
                               .try_at_most = kAddressOffersTryAfter};
    auto offer = std::make_unique<StandingRequest>(at, port, std::move(wish), reactor);
    if (offer->start()) offers_.push_back(std::move(offer));
  }
}

}  // namespace weft::daemon
