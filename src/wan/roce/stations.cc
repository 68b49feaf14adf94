// SPDX-License-Identifier: Apache-2.0
#include "wan/roce/stations.h"

namespace weft::wan {

std::uint64_t Stations::key_of(const MacAddress& mac) {
  std::uint64_t key = 0;
  for (const std::uint8_t byte : mac)
    key = key << 8 | byte;
  return key;
}

std::size_t Stations::size_at(Place place) const {
  return place < places_.size() ? places_[place].size() : 0;
}

bool Stations::make_room(Order& order) {
  if (order.size() < options_.most) return false;
  known_.erase(order.front().key);
  order.pop_front();
  return true;
}

Stations::Learnt Stations::heard(const MacAddress& mac, Place place, Time now) {
  if (place >= places_.size()) places_.resize(place + 1);
  Order& order = places_[place];
  const std::uint64_t key = key_of(mac);
  if (const auto known = known_.find(key); known != known_.end()) {
    Station& station = *known->second;
    if (station.place != place && now - station.heard < options_.recent) return Learnt::kConflict;
    const bool fuller = station.place != place && make_room(order);
    order.splice(order.end(), places_[station.place], known->second);
    station.place = place;
    station.heard = now;
    return fuller ? Learnt::kForgot : Learnt::kYes;
  }
  const bool forgot = make_room(order);
  order.push_back({.key = key, .place = place, .heard = now});
  known_.emplace(key, std::prev(order.end()));
  return forgot ? Learnt::kForgot : Learnt::kYes;
}

std::optional<Stations::Place> Stations::find(const MacAddress& mac, Time now) const {
  const auto known = known_.find(key_of(mac));
  if (known == known_.end() || now - known->second->heard > options_.forget) return std::nullopt;
  return known->second->place;
}

}  // namespace weft::wan
