// SPDX-License-Identifier: Apache-2.0
#include "mgmt/cm_early.h"

#include <algorithm>

#include "mgmt/cm_address.h"

namespace weft::mgmt {

bool EarlyRequests::keep(const Request& request) {
  if (requests_.size() >= most_) return false;
  requests_.push_back(request);
  return true;
}

bool EarlyRequests::has(const hca::Path& from, std::uint64_t transaction) const {
  return std::any_of(requests_.begin(), requests_.end(), [&](const Request& request) {
    return request.transaction == transaction && peer_of(request.from) == peer_of(from);
  });
}

bool EarlyRequests::forget(const hca::Path& from, wire::CommId id) {
  return requests_.remove_if([&](const Request& request) {
    return request.id == id && peer_of(request.from) == peer_of(from);
  }) > 0;
}

std::optional<Time> EarlyRequests::deadline() const {
  const auto first =
      std::min_element(requests_.begin(), requests_.end(),
                       [](const Request& a, const Request& b) { return a.until < b.until; });
  if (first == requests_.end()) return std::nullopt;
  return first->until;
}

std::optional<EarlyRequests::Request> EarlyRequests::take_due(Time now) {
  const auto due = std::find_if(requests_.begin(), requests_.end(),
                                [&](const Request& request) { return request.until <= now; });
  if (due == requests_.end()) return std::nullopt;
  const Request out = *due;
  requests_.erase(due);
  return out;
}

}  // namespace weft::mgmt
