// SPDX-License-Identifier: Apache-2.0
// Paths through an interface, of which the packets are made here: in Ethernet, with IP between or
// without. The extender is a station of that Ethernet: it answers who looks for its address, and
// looks for those of its remotes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/device_absence.h"
#include "daemon/wan/ethernet_filter.h"
#include "daemon/wan/ethernet_path.h"
#include "daemon/wan/watched_paths.h"
#include "fabric/lab_extender.h"
#include "io/ethernet_device.h"
#include "io/raw_ip_socket.h"
#include "io/reactor.h"
#include "io/socket_address.h"
#include "io/udp_socket.h"
#include "wan/neighbour/neighbour_cache.h"

namespace weft::daemon {

enum class EthernetSocketCounter : std::uint8_t { kStranger, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(EthernetSocketCounter::kCount)>
    kEthernetSocketCounters{{
        {"ethernet_stranger", "Ethernet frames dropped: from a station that no remote site is"},
    }};

class EthernetSocket final : public WatchedPaths, private wan::NeighbourUser {
 public:
  // The device of a lab file's `interface`: of this machine, or "tap:NAME". Errors say what is
  // missing, and what would do instead.
  static Expected<std::unique_ptr<io::EthernetDevice>> open_device(const std::string& interface,
                                                                   const Gid& own,
                                                                   std::uint16_t port,
                                                                   EthernetCarries carries);
  // `own` is an address that this machine has, unless all is insecure, or one of nobody's.
  static Expected<std::unique_ptr<EthernetSocket>> open(const io::SocketAddress& own,
                                                        bool needs_tcp,
                                                        const std::string& interface,
                                                        io::Reactor& reactor,
                                                        EthernetCarries carries = {});
  ~EthernetSocket() override { end_watch(); }

  // PathSocket
  RemotePath& add(const fabric::LabRemote& remote, std::size_t place, Time now) override;
  bool run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;
  [[nodiscard]] std::vector<CounterValue> counters() const override;

 private:
  EthernetSocket(const io::SocketAddress& own, std::string interface,
                 std::unique_ptr<io::EthernetDevice> device);
  Expected<void> keep_kernel_quiet(bool needs_tcp, EthernetCarries carries);
  void receive_all(Time now) override;
  void take(Bytes frame, Time now);
  void look_for_device(Time now);
  // wan::NeighbourUser
  void send(const wan::NeighbourFrame& frame, Time now) override;
  void found(const Gid& address, Time now) override;

  const std::unique_ptr<io::EthernetDevice> device_;
  DeviceAbsence absence_;
  wan::Ends ends_;  // without those of a remote
  wan::NeighbourCache neighbours_;
  CounterSet<EthernetSocketCounter, kEthernetSocketCounters> counters_;
  std::vector<std::unique_ptr<EthernetPath>> paths_;
  // Where the kernel has the address too, it would refuse what comes to it.
  std::optional<io::UdpSocket> deaf_udp_;
  std::vector<io::RawIpSocket> deaf_ip_;
};

}  // namespace weft::daemon
