// SPDX-License-Identifier: Apache-2.0
// The UDP sockets of an extender, and the paths from them to other sites.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/udp_path.h"
#include "daemon/wan/watched_paths.h"
#include "io/reactor.h"
#include "io/udp_socket.h"
#include "wan/landing.h"

namespace weft::daemon {

enum class WanSocketCounter : std::uint8_t { kStranger, kOverflow, kOption, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(WanSocketCounter::kCount)>
    kWanSocketCounters{{
        {"udp_stranger", "datagrams dropped: from an address that no remote site has"},
        {"udp_overflow", "datagrams lost because the socket's buffer was full"},
        {"udp_option", "datagrams dropped: their IPv6 destination options cannot be"},
    }};

class WanSocket final : public WatchedPaths {
 public:
  // One socket for each of these addresses, of which there is one at least. Everything happens in
  // the reactor's thread; the reactor outlives it. `options`: paths may carry such. Errors say what
  // is missing, and what would do instead.
  static Expected<std::unique_ptr<WanSocket>> open(const std::vector<io::SocketAddress>& own,
                                                   io::Reactor& reactor, bool options = false);

  ~WanSocket() override { end_watch(); }

  // Where datagrams are read to, as long as it has memory; it outlives this.
  void set_landing(wan::Landing& landing) override { landing_ = &landing; }

  // It stays as long as this. `place` as of PathSocket::add().
  UdpPath& add(const std::optional<io::SocketAddress>& remote, std::size_t place = 0);
  // With the port that the kernel has chosen where there was none.
  [[nodiscard]] const io::SocketAddress& local(std::size_t place = 0) const {
    return sockets_[place].local();
  }

  // PathSocket
  RemotePath& add(const fabric::LabRemote& remote, std::size_t place, Time now) override;
  [[nodiscard]] std::vector<CounterValue> counters() const override;

 private:
  WanSocket() : buffer_(io::kUdpReceiveBuffer) {}
  Expected<void> open_socket(const io::SocketAddress& own, io::Reactor& reactor, bool options);
  Expected<void> use_options(const io::UdpSocket& socket);
  void receive_all(Time now) override;
  void receive_some(std::size_t place, Time now);
  // With the header of options that came beside it; empty: none.
  void receive(const io::ReceivedDatagram& datagram, std::size_t place, Bytes bytes, Bytes header,
               Time now);

  std::vector<io::UdpSocket> sockets_;
  std::vector<std::byte> options_;  // a header of them; none where none are taken
  wan::Landing* landing_ = nullptr;
  std::vector<std::byte> buffer_;  // where there is no landing, or that is full
  CounterSet<WanSocketCounter, kWanSocketCounters> counters_;
  std::vector<std::uint32_t> overflows_;  // of each socket, as it counts them
  std::vector<std::unique_ptr<UdpPath>> paths_;
  PathsByAddress by_address_;
};

}  // namespace weft::daemon
