// SPDX-License-Identifier: Apache-2.0
#include "wan/path_bundle.h"

#include <algorithm>
#include <cassert>

namespace weft::wan {

PathBundle::PathBundle(std::span<Path* const> carriers, const Options& options, Time now)
    : watched_(options.watched || carriers.size() > 1) {
  assert(!carriers.empty() && carriers.size() <= kMostLegs);
  for (Path* const carrier : carriers) {
    const auto number = static_cast<std::uint8_t>(legs_.size());
    legs_.push_back(std::make_unique<Leg>(*carrier, number, options.pacing, now));
  }
}

Bytes PathBundle::receive(Bytes datagram, bool marked, Time now) {
  if (!LegMessage::is_one(datagram)) return datagram;
  const auto message = LegMessage::parse(datagram);
  if (!message || message->head.leg >= legs_.size()) {
    ++malformed_;
    return {};
  }
  legs_[message->head.leg]->receive(*message, datagram.size(), marked, now);
  return message->frame;
}

bool PathBundle::run(Time now) {
  bool changed = false;
  for (const auto& leg : legs_)
    changed |= leg->run(watched_, now);
  return changed;
}

std::optional<Time> PathBundle::deadline() const {
  std::optional<Time> first;
  for (const auto& leg : legs_) {
    const auto when = leg->deadline(watched_);
    if (when && (!first || *when < *first)) first = when;
  }
  return first;
}

bool PathBundle::any_works() const {
  return std::ranges::any_of(legs_, [](const auto& leg) { return leg->works(); });
}

Leg* PathBundle::next_leg() const {
  const bool only_working = any_works();
  Leg* next = nullptr;
  for (const auto& leg : legs_) {
    if (!leg->ready() || (only_working && !leg->works())) continue;
    if (next == nullptr || leg->round_trip().smoothed() < next->round_trip().smoothed()) {
      next = leg.get();
    }
  }
  return next;
}

bool PathBundle::established() const {
  return std::ranges::any_of(legs_, [](const auto& leg) { return leg->carrier().established(); });
}

std::size_t PathBundle::longest_frame() const {
  if (!watched_) return legs_.front()->carrier().longest_frame();
  const bool only_working = any_works();
  std::size_t longest = SIZE_MAX;
  for (const auto& leg : legs_) {
    if (only_working ? leg->works() : leg->carrier().established()) {
      longest = std::min(longest, leg->longest_frame());
    }
  }
  return longest == SIZE_MAX ? legs_.front()->longest_frame() : longest;
}

std::size_t PathBundle::burst() const {
  const Leg* const leg = next_leg();
  return leg != nullptr ? leg->burst() : 0;
}

std::uint32_t PathBundle::receive_room() const {
  std::uint32_t least = UINT32_MAX;
  for (const auto& leg : legs_)
    least = std::min(least, leg->carrier().receive_room());
  return least;
}

Pace PathBundle::pace() const {
  Pace least = Pace::kFollowed;
  for (const auto& leg : legs_) {
    if (leg->pacer() == nullptr) least = std::min(least, leg->carrier().pace());
  }
  return least;
}

std::size_t PathBundle::options_room() const {
  std::size_t least = SIZE_MAX;
  for (const auto& leg : legs_)
    least = std::min(least, leg->carrier().options_room());
  return least;
}

Duration PathBundle::spread() const {
  Duration least = Duration::max();
  Duration most = 0ns;
  for (const auto& leg : legs_) {
    if (!leg->works()) continue;
    least = std::min(least, leg->round_trip().smoothed());
    most = std::max(most, leg->round_trip().overtaken());
  }
  return legs_.size() > 1 && most > least ? most - least : 0ns;
}

void PathBundle::send(std::span<const OutFrame> frames, Time now) {
  Leg* const leg = next_leg();
  assert(leg != nullptr);
  if (watched_) return leg->send(frames, now);
  leg->send_unwatched(frames, now);
}

}  // namespace weft::wan
