// SPDX-License-Identifier: Apache-2.0
// Behind which peer each station of Ethernet is whose address tells no LID: learned from what it
// sends, as bridges learn it (IEEE 802.1Q, 8.7), and forgotten when it is not heard any more.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/mac_address.h"
#include "base/time.h"
#include "lan/peers.h"

namespace weft::lan {

class Stations {
 public:
  struct Options {
    std::size_t most = 8192;
    std::size_t most_of_one = 4096;  // behind one peer, which can make up as many as it likes
    Duration age = 300s;             // IEEE 802.1Q, 8.8.3
  };

  // `peers`: the most there may be at a time.
  Stations(const Options& options, std::size_t peers);

  // `station` has sent a frame, which came from `peer`. False: there is no room for more.
  bool learn(const MacAddress& station, PeerId peer, Time now);
  // Nothing: that is not known.
  [[nodiscard]] std::optional<PeerId> find(const MacAddress& station) const;
  // It is not behind a peer.
  void forget(const MacAddress& station);
  void forget(PeerId peer);
  void clear();

  // Lets go of those that have not been heard for `age`, within a tenth of it.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return next_look_; }

  [[nodiscard]] std::size_t count() const { return stations_.size(); }
  [[nodiscard]] std::size_t count(PeerId peer) const { return counts_[peer]; }

 private:
  struct Place {
    PeerId peer = 0;
    Time heard{};
  };

  const Options options_;
  // In order, not hashed: peers choose the addresses, and could choose those of one hash.
  std::map<MacAddress, Place> stations_;
  std::vector<std::size_t> counts_;  // of each peer
  std::optional<Time> next_look_;
};

}  // namespace weft::lan
