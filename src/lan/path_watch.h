// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/time.h"
#include "lan/peers.h"

namespace weft::lan {

// Which peers have been sent something and have not been heard since, by the path in use. Neither
// datagrams nor unreliable connections say that they arrive: this is how it is found out that a
// path leads nowhere. Costs a look for each frame.
class PathWatch {
 public:
  static constexpr Duration kSilence = 1s;
  static constexpr Duration kLookEvery = 500ms;

  explicit PathWatch(std::size_t most) : since_(most), watched_(most, false) {}

  // To this peer alone, by the path in use.
  void sent(PeerId peer, Time now) {
    if (since_[peer]) return;
    since_[peer] = now;
    if (watched_[peer]) return;
    watched_[peer] = true;
    waiting_.push_back(peer);
    if (!look_at_) look_at_ = now + kSilence;
  }
  // From it, by that path; or it is reached by another one, or not any more.
  void heard(PeerId peer) { since_[peer].reset(); }

  // Calls `silent` with each that has been silent for too long; what is sent to it from then on is
  // watched anew.
  template <class Silent>
  void run(Time now, Silent&& silent) {
    if (!look_at_ || now < *look_at_) return;
    std::erase_if(waiting_, [&](PeerId peer) {
      const bool over = since_[peer] && now - *since_[peer] >= kSilence;
      if (since_[peer] && !over) return false;
      watched_[peer] = false;
      since_[peer].reset();
      if (over) silent(peer);
      return true;
    });
    look_at_ = waiting_.empty() ? std::nullopt : std::optional(now + kLookEvery);
  }
  [[nodiscard]] std::optional<Time> deadline() const { return look_at_; }

 private:
  std::vector<std::optional<Time>> since_;
  std::vector<bool> watched_;    // is in waiting_
  std::vector<PeerId> waiting_;  // for whether it is heard
  std::optional<Time> look_at_;
};

}  // namespace weft::lan
