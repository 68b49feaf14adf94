// SPDX-License-Identifier: Apache-2.0
// A tunnel's path to one remote through UDP, over IPv4 or IPv6.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "io/udp_socket.h"
#include "wan/pacing.h"
#include "wan/path.h"

namespace weft::daemon {

// Frames of equal length leave by one system call, straight from where they are.
class UdpPath final : public wan::Path {
 public:
  struct User {
    // True: it is proved to come from the remote, and is the newest, so that the remote is where it
    // came from.
    std::function<bool(Bytes frame, Time now)> received{};
    std::function<void(Time now)> changed{};  // an answer of the path
    // Where nothing can be proved: nothing that matters comes from the remote any more.
    std::function<bool()> lost{};
    // Where it can: what somebody sends names what it is to be proved with.
    std::function<bool(Bytes frame)> claims{};
  };

  // `socket`, which may be shared with other paths, outlives it. Without a remote it is whoever
  // comes first, or who can prove that he is: set_remote().
  UdpPath(const std::optional<io::SocketAddress>& remote, const io::UdpSocket& socket);
  UdpPath(const UdpPath&) = delete;
  UdpPath& operator=(const UdpPath&) = delete;

  void set_user(User user) { user_ = std::move(user); }
  // Nothing: nobody has come.
  [[nodiscard]] const std::optional<io::SocketAddress>& remote() const { return remote_; }
  // Whether it would take whoever has sent this for its remote: that is not fixed, and has not come
  // or is lost.
  [[nodiscard]] bool takes_strangers() const {
    return !fixed_ && !user_.claims && (!remote_ || !user_.lost || user_.lost());
  }
  // Whether this may be its remote's, as far as can be told before it is looked at.
  [[nodiscard]] bool owns(Bytes frame) const { return !user_.claims || user_.claims(frame); }
  // Whether what a stranger has sent may be its remote's, from another place than before.
  [[nodiscard]] bool claims(Bytes frame) const {
    return !fixed_ && user_.claims && user_.claims(frame);
  }
  void set_remote(const io::SocketAddress& remote, Time now);

  // What frames of this path together may take, bytes per second; 0: whatever the socket takes.
  void set_rate(std::uint64_t bytes_per_s, Time now);
  // Between frames, so that they keep to it: when go_on() lets the next ones leave.
  [[nodiscard]] std::optional<Time> pause() const { return pause_; }
  void go_on(Time now);

  // wan::Path
  [[nodiscard]] bool established() const override { return remote_.has_value(); }
  [[nodiscard]] bool ready() const override { return backlog_.empty() && !pause_; }
  [[nodiscard]] std::size_t longest_frame() const override { return longest_frame_; }
  [[nodiscard]] std::size_t burst() const override { return pacer_ ? pacer_->run() : SIZE_MAX; }
  void send(std::span<const wan::OutFrame> frames, Time now) override;

  // As User::received.
  bool receive(Bytes frame, Time now) { return user_.received && user_.received(frame, now); }
  // The socket has taken no more: flush() when it does again.
  [[nodiscard]] bool is_blocked() const { return !backlog_.empty(); }
  void flush(Time now);
  // Frames that the socket refused: lost.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  using Frames = std::span<const wan::OutFrame>;

  // How many of the first ones leave together.
  [[nodiscard]] std::size_t group(Frames frames) const;
  // How many of them are done with; fewer than all when the socket takes no more.
  std::size_t send_group(Frames frames, Time now);
  io::IoResult send_parts(std::span<const iovec> parts, std::size_t segment) const;
  void keep(Frames frames);
  void look_at_mtu(Time now);

  const bool fixed_;
  std::optional<io::SocketAddress> remote_;
  const io::UdpSocket& socket_;
  User user_;
  std::size_t longest_frame_;
  std::size_t longest_cut_ = io::kMaxUdpPayload;  // datagrams that the kernel cuts
  std::vector<iovec> parts_;
  std::vector<std::vector<std::byte>> backlog_;
  std::uint64_t refused_ = 0;
  std::optional<wan::Pacer> pacer_;
  std::optional<Time> pause_;
};

}  // namespace weft::daemon
