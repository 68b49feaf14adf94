// SPDX-License-Identifier: Apache-2.0
// Where other sites connect to an extender: TCP listeners that a reactor watches, and how strangers
// who connect are told apart.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/gid_prefix.h"
#include "base/ids.h"
#include "base/time.h"
#include "io/reactor.h"
#include "io/socket_address.h"
#include "io/tcp_socket.h"
#include "io/unique_fd.h"

namespace weft::daemon {

class TcpDoor {
 public:
  using Taker = std::function<void(io::TcpConnection connection)>;

  // Listens at all of these at once. `ready`: accept() has something to do. The reactor outlives
  // it.
  static Expected<std::unique_ptr<TcpDoor>> open(const std::vector<io::SocketAddress>& own,
                                                 io::Reactor& reactor, std::function<void()> ready);
  TcpDoor(const TcpDoor&) = delete;
  TcpDoor& operator=(const TcpDoor&) = delete;

  // Gives away those that have come. True: only some of them, so that others get their turn.
  bool accept(const Taker& take, Time now);
  // Where there is no descriptor for one: when accept() is to try again.
  [[nodiscard]] std::optional<Time> deadline() const { return again_; }

  // `place`: of which of the addresses.
  [[nodiscard]] const io::SocketAddress& local(std::size_t place = 0) const {
    return listeners_[place].local;
  }

 private:
  struct Listener {
    io::UniqueFd socket;
    io::SocketAddress local;
    io::Reactor::Registration watch;  // which ends before the socket does
  };

  explicit TcpDoor(io::Reactor& reactor) : reactor_(reactor) {}
  Expected<void> listen(const io::SocketAddress& own, std::function<void()> ready);
  void watch(bool open) const;
  // As accept().
  bool accept_some(const Listener& listener, const Taker& take, Time now);

  io::Reactor& reactor_;
  std::vector<Listener> listeners_;
  std::optional<Time> again_;
};

// What strangers are told apart by: of IPv6 the network, for a machine can have all addresses of
// one.
[[nodiscard]] GidPrefix origin_of(const Gid& address);

}  // namespace weft::daemon
