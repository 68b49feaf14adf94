// SPDX-License-Identifier: Apache-2.0
#include "lan/stations.h"

namespace weft::lan {

Stations::Stations(const Options& options, std::size_t peers) : options_(options), counts_(peers) {
}

bool Stations::learn(const MacAddress& station, PeerId peer, Time now) {
  const auto known = stations_.find(station);
  const bool is_here = known != stations_.end() && known->second.peer == peer;
  if (!is_here && counts_[peer] >= options_.most_of_one) return false;
  if (known != stations_.end()) {
    --counts_[known->second.peer];
    known->second = {.peer = peer, .heard = now};
  } else {
    if (stations_.size() >= options_.most) return false;
    stations_.emplace(station, Place{.peer = peer, .heard = now});
    if (!next_look_) next_look_ = now + options_.age;
  }
  ++counts_[peer];
  return true;
}

std::optional<PeerId> Stations::find(const MacAddress& station) const {
  const auto known = stations_.find(station);
  return known == stations_.end() ? std::nullopt : std::optional(known->second.peer);
}

void Stations::forget(const MacAddress& station) {
  const auto known = stations_.find(station);
  if (known == stations_.end()) return;
  --counts_[known->second.peer];
  stations_.erase(known);
}

void Stations::forget(PeerId peer) {
  if (counts_[peer] == 0) return;
  std::erase_if(stations_, [peer](const auto& each) { return each.second.peer == peer; });
  counts_[peer] = 0;
}

void Stations::clear() {
  stations_.clear();
  counts_.assign(counts_.size(), 0);
}

void Stations::run(Time now) {
  if (!next_look_ || now < *next_look_) return;
  std::erase_if(stations_, [this, now](const auto& each) {
    if (now < each.second.heard + options_.age) return false;
    --counts_[each.second.peer];
    return true;
  });
  next_look_.reset();
  if (!stations_.empty()) next_look_ = now + options_.age / 10;
}

}  // namespace weft::lan
