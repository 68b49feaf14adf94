// SPDX-License-Identifier: Apache-2.0
// What all connections between sites have in common, whatever is said on them: who has come and has
// not yet shown who he is, those of one site that stand, and when one that failed is tried again. A
// Channel has an address(), a deadline(), and an error() when it has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/tcp_door.h"

namespace weft::daemon {

template <class Channel>
class Newcomers {
 public:
  static constexpr std::size_t kMost = 32;

  // True: there were as many already, and one of them is gone. That is the oldest of the origin
  // that has the most: one stranger who connects again and again is in nobody's way but his own.
  bool add(std::unique_ptr<Channel> newcomer) {
    const bool crowded = all_.size() >= kMost;
    if (crowded) all_.erase(one_too_many());
    all_.push_back(std::move(newcomer));
    return crowded;
  }
  // Shows each to `look`, which takes those away that are none any more.
  template <class Look>
  void run(const Look& look) {
    for (auto& channel : all_)
      look(channel);
    std::erase(all_, nullptr);
  }
  // The earliest of theirs.
  [[nodiscard]] std::optional<Time> deadline() const {
    std::optional<Time> first;
    for (const auto& channel : all_) {
      const auto when = channel->deadline();
      if (when && (!first || *when < *first)) first = when;
    }
    return first;
  }

 private:
  auto one_too_many() const {
    return std::ranges::max_element(all_, {}, [&](const auto& channel) {
      return std::ranges::count(all_, origin_of(channel->address().address), [](const auto& other) {
        return origin_of(other->address().address);
      });
    });
  }

  std::vector<std::unique_ptr<Channel>> all_;  // as they came
};

// One more connection to a site. Those that it has forgotten are noticed late: of more than a few
// the oldest goes.
template <class Channel>
void keep_newest(std::vector<std::unique_ptr<Channel>>& standing,
                 std::unique_ptr<Channel> another) {
  constexpr std::size_t kMost = 3;
  if (standing.size() >= kMost) standing.erase(standing.begin());
  standing.push_back(std::move(another));
}

// When to connect again: soon at first, and each time that was in vain twice as long after it.
class Retries {
 public:
  static constexpr Duration kFirst = 250ms;
  static constexpr Duration kLongest = 8s;

  [[nodiscard]] Time next() const { return next_; }
  void failed(Time now) {
    next_ = now + patience_;
    patience_ = std::min(patience_ * 2, kLongest);
  }
  void succeeded() { patience_ = kFirst; }
  // Whatever came of it.
  void wait_until(Time when) { next_ = when; }

 private:
  Time next_{};
  Duration patience_ = kFirst;
};

// Why one has ended.
template <class Channel>
[[nodiscard]] Error end_of(const Channel& channel) {
  return channel.error().value_or(
      Error{std::errc::connection_aborted, "the other end has closed the connection"});
}

}  // namespace weft::daemon
