// SPDX-License-Identifier: Apache-2.0
#include "hca/receive_side_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::hca {
namespace {

ReceiveSideScaling::Key drawn_key(Entropy& entropy) {
  ReceiveSideScaling::Key key;
  static_assert(key.size() % 4 == 0);
  for (std::size_t at = 0; at < key.size(); at += 4)
    wire::store_be32(key.data() + at, static_cast<std::uint32_t>(entropy.draw()));
  return key;
}

}  // namespace

ReceiveSideScaling::ReceiveSideScaling(Entropy& entropy) : ReceiveSideScaling(drawn_key(entropy)) {
}

std::vector<ReceiveSideScaling::Place>::iterator ReceiveSideScaling::find(Queue queue) {
  return std::find_if(places_.begin(), places_.end(),
                      [queue](const Place& place) { return place.queue == queue; });
}

ReceiveSideScaling::Place& ReceiveSideScaling::least() {
  return *std::min_element(places_.begin(), places_.end(),
                           [](const Place& a, const Place& b) { return a.entries < b.entries; });
}

ReceiveSideScaling::Place& ReceiveSideScaling::most() {
  return *std::max_element(places_.begin(), places_.end(),
                           [](const Place& a, const Place& b) { return a.entries < b.entries; });
}

// Where an entry is on its way back to the queue that it is still at, it just stays.
void ReceiveSideScaling::move(Entry& entry, Place& to) {
  const std::optional<Queue> from = entry.next ? entry.next : entry.queue;
  if (from) {
    if (const auto place = find(*from); place != places_.end()) --place->entries;
  }
  ++to.entries;
  if (!entry.queue) {
    entry.queue = to.queue;
  } else if (entry.queue == to.queue) {
    entry.next.reset();
  } else {
    entry.next = to.queue;
  }
}

Expected<void> ReceiveSideScaling::add(Queue queue, std::optional<unsigned> core) {
  if (find(queue) != places_.end()) {
    return fail(std::errc::file_exists, fmt::format("receive queue {}: is there already", queue));
  }
  if (places_.size() == kMostQueues) {
    return fail(std::errc::no_buffer_space,
                fmt::format("a set has at most {} receive queues", kMostQueues));
  }
  places_.push_back({.queue = queue, .core = core});
  for (Entry& entry : entries_) {
    if (!entry.queue) move(entry, places_.back());
  }
  even_out();
  return {};
}

void ReceiveSideScaling::even_out() {
  while (!places_.empty() && least().entries + 1 < most().entries) {
    const Queue fullest = most().queue;
    const auto one = std::find_if(entries_.begin(), entries_.end(), [fullest](const Entry& entry) {
      return (entry.next ? entry.next : entry.queue) == fullest;
    });
    move(*one, least());
  }
}

Expected<void> ReceiveSideScaling::remove(Queue queue) {
  const auto place = find(queue);
  if (place == places_.end()) {
    return fail(std::errc::invalid_argument, fmt::format("receive queue {}: is not there", queue));
  }
  places_.erase(place);
  for (Entry& entry : entries_) {
    if (entry.next == queue) {
      // It stays where it is.
      entry.next.reset();
      if (const auto stays = find(*entry.queue); stays != places_.end()) ++stays->entries;
    }
    if (entry.queue != queue) continue;
    entry.queue = std::exchange(entry.next, std::nullopt);
    if (!entry.queue && !places_.empty()) move(entry, least());
  }
  even_out();
  return {};
}

std::optional<unsigned> ReceiveSideScaling::core_of(Queue queue) const {
  const auto place = std::find_if(places_.begin(), places_.end(),
                                  [queue](const Place& each) { return each.queue == queue; });
  return place == places_.end() ? std::nullopt : place->core;
}

void ReceiveSideScaling::drained(Queue queue) {
  for (Entry& entry : entries_) {
    if (entry.queue == queue && entry.next) entry.queue = std::exchange(entry.next, std::nullopt);
  }
}

bool ReceiveSideScaling::awaits(Queue queue) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [queue](const Entry& entry) { return entry.queue == queue && entry.next; });
}

Expected<void> ReceiveSideScaling::direct(std::uint32_t hash, unsigned core) {
  Place* best = nullptr;
  for (Place& place : places_) {
    if (place.core == core && (best == nullptr || place.entries < best->entries)) best = &place;
  }
  if (best == nullptr) {
    return fail(std::errc::invalid_argument, fmt::format("core {}: has no receive queue", core));
  }
  Entry& entry = entries_[entry_of(hash)];
  const Queue at = *(entry.next ? entry.next : entry.queue);
  if (core_of(at) != core) move(entry, *best);
  return {};
}

std::array<std::optional<ReceiveSideScaling::Queue>, ReceiveSideScaling::kEntries>
ReceiveSideScaling::table() const {
  std::array<std::optional<Queue>, kEntries> out;
  std::transform(entries_.begin(), entries_.end(), out.begin(),
                 [](const Entry& entry) { return entry.queue; });
  return out;
}

std::uint32_t ReceiveSideScaling::hash(const PacketFlow& flow) const {
  const Bytes all(flow.bytes);
  std::uint32_t hash = hash_.hash(all.first(PacketFlow::kGids));
  // Zeros add nothing.
  if (flow.global) hash ^= hash_.hash(all.subspan(PacketFlow::kGids, 32), PacketFlow::kGids);
  if (flow.inner) {
    hash ^= hash_.hash(all.subspan(PacketFlow::kAddresses), PacketFlow::kAddresses);
  }
  return hash;
}

}  // namespace weft::hca
