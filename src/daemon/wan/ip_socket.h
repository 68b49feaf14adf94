// SPDX-License-Identifier: Apache-2.0
// Paths whose frames lie in IP directly, in packets of the protocol for experiments, or whose
// packets are those of a transport that is made here.
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
#include "daemon/wan/addressed_path.h"
#include "daemon/wan/watched_paths.h"
#include "io/raw_ip_socket.h"
#include "io/reactor.h"
#include "wan/encapsulation/out_packet.h"

namespace weft::daemon {

class IpPath final : public AddressedPath {
 public:
  // `socket`, which may be shared with other paths, outlives it. Without a remote as AddressedPath.
  IpPath(const std::optional<io::SocketAddress>& remote, io::RawIpSocket& socket);

  // The path may take frames of another length.
  void look_at_mtu(Time now);

  // wan::Path
  [[nodiscard]] std::size_t longest_frame() const override { return longest_frame_; }

 private:
  std::size_t transmit(Frames frames, Time now) override;
  void moved() override { longest_frame_ = frame_that_fits(*remote(), 0); }

  io::RawIpSocket& socket_;
  std::size_t longest_frame_;
  std::vector<std::span<const Bytes>> payloads_;
};

enum class IpSocketCounter : std::uint8_t { kStranger, kOption, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(IpSocketCounter::kCount)>
    kIpSocketCounters{{
        {"ip_stranger", "IP packets dropped: from an address that no remote site has"},
        {"ip_option", "IP packets dropped: their IPv6 destination options cannot be"},
    }};

class IpSocket final : public WatchedPaths {
 public:
  // `own` is of the version that is said, or any address. `options`: paths may carry such, in IPv6.
  // `protocol`: of the packets, frames being that for experiments. Errors say what to use where raw
  // sockets are not allowed. The reactor outlives it.
  static Expected<std::unique_ptr<IpSocket>> open(const Gid& own, bool ipv4, io::Reactor& reactor,
                                                  bool options = false,
                                                  std::uint8_t protocol = *wan::kFrame.ip_protocol);
  ~IpSocket() override { end_watch(); }

  // It stays as long as this.
  IpPath& add(const std::optional<io::SocketAddress>& remote);

  // PathSocket
  RemotePath& add(const fabric::LabRemote& remote, std::size_t place, Time now) override;
  [[nodiscard]] std::vector<CounterValue> counters() const override;

 private:
  explicit IpSocket(io::RawIpSocket socket) : socket_(std::move(socket)) {}
  void receive_all(Time now) override;
  void receive(const io::RawIpSocket::Received& packet, Time now);

  io::RawIpSocket socket_;
  CounterSet<IpSocketCounter, kIpSocketCounters> counters_;
  std::vector<std::unique_ptr<IpPath>> paths_;
  PathsByAddress by_address_{false};
};

}  // namespace weft::daemon
