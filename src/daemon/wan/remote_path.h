// SPDX-License-Identifier: Apache-2.0
// A tunnel's path to one remote, whatever carries it, and what such paths share: a pace, what
// waits for room, and who uses it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/ids.h"
#include "base/time.h"
#include "fabric/lab_extender.h"
#include "wan/landing.h"
#include "wan/pacing.h"
#include "wan/path.h"
#include "wire/ip.h"

namespace weft::daemon {

class RemotePath : public wan::Path {
 public:
  // What the network's headers said of a frame.
  struct Beside {
    bool marked = false;  // with congestion experienced (ECN), as far as that can be seen
    Bytes options{};      // as of wan::OutFrame
  };
  struct User {
    // True: it is proved to come from the remote, and is the newest, so that the remote is where it
    // came from.
    std::function<bool(Bytes frame, const Beside& beside, Time now)> received{};
    std::function<void(Time now)> changed{};  // an answer of the path
    // Where nothing can be proved: nothing that matters comes from the remote any more.
    std::function<bool()> lost{};
    // Where it can: what somebody sends names what it is to be proved with.
    std::function<bool(Bytes frame)> claims{};
  };

  RemotePath() = default;
  RemotePath(const RemotePath&) = delete;
  RemotePath& operator=(const RemotePath&) = delete;

  // Whether the remote, where its address is not known and nothing can be proved, may be somebody
  // at this host.
  using Admits = std::function<bool(const Gid& host)>;

  void set_user(User user) { user_ = std::move(user); }
  // Until then it may be at any.
  void set_admits(Admits admits) { admits_ = std::move(admits); }
  // Where the remote is, for a person; empty: that is not known.
  [[nodiscard]] virtual std::string remote_text() const = 0;
  // Of the sockets of its kind, by which one it leaves: as of PathSocket::add().
  [[nodiscard]] virtual std::size_t place() const { return 0; }
  // What is known of it as a neighbour: NeighbourCache::state_text(). Empty: the path needs none.
  [[nodiscard]] virtual std::string_view neighbour_text() const { return {}; }

  // What frames of this path together may take, bytes per second; 0: whatever is taken.
  void set_rate(std::uint64_t bytes_per_s, Time now);
  // Whether the network may mark what leaves instead of dropping it (ECN), as far as this kind of
  // path can say so: for those who heed that.
  void set_ecn_capable(bool capable) { ecn_capable_ = capable; }
  // Of the memory where frames wait to be read here, what those of this path may take.
  void set_receive_room(std::uint32_t bytes) { receive_room_ = bytes; }
  // Between frames, so that they keep to it: when go_on() lets the next ones leave.
  [[nodiscard]] std::optional<Time> pause() const { return pause_; }
  void go_on(Time now);

  // wan::Path
  [[nodiscard]] bool ready() const override { return backlog_.empty() && !pause_; }
  [[nodiscard]] std::size_t burst() const override { return pacer_ ? pacer_->run() : SIZE_MAX; }
  [[nodiscard]] std::uint32_t receive_room() const override { return receive_room_; }
  [[nodiscard]] wan::Pace pace() const override {
    return pacer_ ? wan::Pace::kSet : wan::Pace::kNone;
  }
  void send(std::span<const wan::OutFrame> frames, Time now) override;

  // As User::received.
  bool receive(Bytes frame, Time now, const Beside& beside) {
    return user_.received && user_.received(frame, beside, now);
  }
  // The socket has taken no more: flush() when it does again.
  [[nodiscard]] bool is_blocked() const { return !backlog_.empty(); }
  void flush(Time now);
  // Frames that the socket refused: lost.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 protected:
  using Frames = std::span<const wan::OutFrame>;

  // Hands frames to what carries them. How many of the first ones are done with, sent or refused;
  // fewer than all when no more is taken now.
  virtual std::size_t transmit(Frames frames, Time now) = 0;
  // The traffic class that a frame leaves with.
  [[nodiscard]] std::uint8_t marked_capable(std::uint8_t traffic_class) const {
    return ecn_capable_ ? traffic_class | wire::kEcnCapable : traffic_class;
  }
  void refuse(std::size_t frames) { refused_ += frames; }
  void changed(Time now) const {
    if (user_.changed) user_.changed(now);
  }
  [[nodiscard]] const User& user() const { return user_; }
  [[nodiscard]] bool may_be_at(const Gid& host) const { return !admits_ || admits_(host); }

 private:
  struct Kept {
    std::vector<std::byte> bytes;
    std::vector<std::byte> options;
    std::uint8_t traffic_class = 0;
  };
  void keep(Frames frames);

  User user_;
  Admits admits_;
  std::vector<Kept> backlog_;
  std::uint64_t refused_ = 0;
  std::uint32_t receive_room_ = 0;
  bool ecn_capable_ = false;
  std::optional<wan::Pacer> pacer_;
  std::optional<Time> pause_;
};

// What an extender's paths of one kind go through: a socket, or an interface. Everything happens in
// the reactor's thread.
class PathSocket {
 public:
  PathSocket() = default;
  PathSocket(const PathSocket&) = delete;
  PathSocket& operator=(const PathSocket&) = delete;
  virtual ~PathSocket() = default;

  // The path to a remote that was found to be one of this kind. It stays as long as this. `place`:
  // where there are sockets at several addresses, by which one it leaves.
  virtual RemotePath& add(const fabric::LabRemote& remote, std::size_t place, Time now) = 0;
  // Where frames are read to, where that spares a copy, as long as it has memory; it outlives this.
  virtual void set_landing([[maybe_unused]] wan::Landing& landing) {}
  // Nothing is sent any more: what the network keeps for its paths is given back, which may take
  // some time.
  virtual void close() {}
  // After frames have been handed to paths.
  virtual void watch_for_room() = 0;
  // Does what is due, where there is such. False: there was nothing to do.
  virtual bool run([[maybe_unused]] Time now) { return false; }
  [[nodiscard]] virtual std::optional<Time> deadline() const { return std::nullopt; }
  [[nodiscard]] virtual std::vector<CounterValue> counters() const = 0;
};

// Tells each of the paths that one socket brings what its share of that socket's buffer is: as many
// bytes as the kernel granted for all that waits there.
template <typename Paths>
void share_receive_room(std::size_t granted, const Paths& paths) {
  // What the kernel may take of the buffer for a byte that waits: drivers give short datagrams
  // memory of several times their length.
  constexpr std::size_t kBufferPerByte = 4;
  const std::size_t room = granted / kBufferPerByte / paths.size();
  for (const auto& path : paths)
    path->set_receive_room(static_cast<std::uint32_t>(std::min<std::size_t>(room, UINT32_MAX)));
}

}  // namespace weft::daemon
