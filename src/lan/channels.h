// SPDX-License-Identifier: Apache-2.0
// Connections to peers: made when addresses are being resolved, which says that more is about to be
// said, or when a frame is too long for one datagram; bounded in number, and given up when nothing
// has gone over them for longer than kernels keep an address that they do not use. Whoever has no
// channel is sent datagrams.
//
//   none --wanted--> asked --up--> up --idle, or the oldest when room is needed--> none
//     ^                |            |
//     +--after a while-+<---down----+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "lan/peers.h"

namespace weft::lan {

class Channels {
 public:
  struct Options {
    std::size_t most = 256;  // that are asked for or up
    Duration idle = 300s;    // then it is given up; as long as a neighbour's entry lives, and more
    Duration keep = 10s;     // one that was used so lately is not given up for another
    Duration settles = 1s;   // by then what a peer said before has come
    Duration retry_after = 2s;  // when one could not be made, or went down
  };
  enum class State : std::uint8_t { kNone, kAsked, kUp };
  // What is to be done: ask for a channel to who wants one; before that, give this one up.
  struct Wanted {
    bool ask = false;
    std::optional<PeerId> give_up{};
    bool scarce = false;  // all are in use
  };

  Channels(const Options& options, std::size_t peers) : options_(options), channels_(peers) {}

  [[nodiscard]] Wanted want(PeerId peer, Time now);
  // The peer asks for one; if not `ask`, it is refused. When both ask at a time, that of the end of
  // which `first` is true is made: `first` is ours.
  [[nodiscard]] Wanted wanted_by_peer(PeerId peer, bool first, Time now);
  // The one that was asked for, by whichever end, can be used. False: nobody knows of it any more.
  [[nodiscard]] bool up(PeerId peer, Time now);
  // The one that we asked for is not made.
  void refused(PeerId peer, Time now);
  void down(PeerId peer, Time now);
  // The peer has gone: another one may have its number. True: there was a channel, or it was
  // asked for.
  bool forget(PeerId peer);
  // Whether a frame can go by the channel, which is then used.
  [[nodiscard]] bool use(PeerId peer, Time now) {
    Channel& channel = channels_[peer];
    if (channel.state != State::kUp) return false;
    channel.used = now;
    return true;
  }
  // It is up, and has been for so long that whatever the peer says of it, it knows of it.
  [[nodiscard]] bool settled(PeerId peer, Time now) const {
    const Channel& channel = channels_[peer];
    return channel.state == State::kUp && now >= channel.up_since + options_.settles;
  }
  [[nodiscard]] State state(PeerId peer) const { return channels_[peer].state; }
  [[nodiscard]] std::size_t count() const { return count_; }

  // One that has been idle for long, of which nothing more is known here; nothing: there is none.
  [[nodiscard]] std::optional<PeerId> take_idle(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return look_at_; }

 private:
  struct Channel {
    State state = State::kNone;
    Time used{};
    Time up_since{};
    std::optional<Time> not_before;  // it is asked for again
  };
  void set(PeerId peer, State state);
  [[nodiscard]] Wanted make_room(Time now);
  [[nodiscard]] std::optional<PeerId> longest_idle() const;

  const Options options_;
  std::vector<Channel> channels_;  // by peer
  std::size_t count_ = 0;          // that are not kNone
  // Before this none has been idle for long. Looking at all for each frame would be too much.
  std::optional<Time> look_at_;
};

}  // namespace weft::lan
