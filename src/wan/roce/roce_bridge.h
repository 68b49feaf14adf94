// SPDX-License-Identifier: Apache-2.0
// A bridge between hosts with RoCE on an Ethernet here and those at other sites: of what the
// Ethernet has, it carries RoCEv2 packets, and the questions and answers by which hosts find each
// other's addresses. So hosts of several sites may have addresses of one subnet, and the host that
// is asked for answers itself, wherever it is.
//
//   Ethernet -> from_hosts() -> stations -> port of a site  <-- link --> tunnel
//   Ethernet <- RoceUser     <- stations <- port of a site  <-- link --> tunnel
//
// Nothing that came from one site goes to another. A core: it is run when it was woken or its
// deadline has come, as a link::Port is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/allowance.h"
#include "base/bytes.h"
#include "base/time.h"
#include "link/packet.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/roce/host_frame.h"
#include "wan/roce/roce_counters.h"
#include "wan/roce/stations.h"

namespace weft::wan {

// The Ethernet of the hosts here.
class RoceUser {
 public:
  virtual ~RoceUser() = default;
  // For kLongestRawPacket bytes, or nothing: no frame is taken now; once one is, run() the bridge.
  virtual MutableBytes room() = 0;
  // A frame that lies there, from the destination address on.
  virtual void put(Bytes frame) = 0;
  // Call run() soon. Comes once until run() is called.
  virtual void wake() = 0;
};

struct RoceOptions {
  link::PortOptions port{.data_vls = 15};  // of the ports that lead to other sites
  Stations::Options stations{};
  // Hosts do not wait for credit. What waits for a site, packets of each lane: from so many on they
  // are told to send less, by ECN, and above that frames are dropped.
  std::size_t marked = 128;
  std::size_t most = 2048;
  // Of frames to all hosts, a second, and at once, above 0: of those here, and of each site.
  unsigned questions = 500;
};

class RoceBridge final : private link::PortOwner {
 public:
  // `pool` and `user` outlive it.
  RoceBridge(const RoceOptions& options, link::PacketPool& pool, RoceUser& user);
  RoceBridge(const RoceBridge&) = delete;
  RoceBridge& operator=(const RoceBridge&) = delete;
  ~RoceBridge() override = default;

  // One more site: what its tunnel is joined to. The port becomes Active by itself, and is
  // disconnected before this goes.
  std::uint32_t add_site();
  [[nodiscard]] link::Port& site(std::uint32_t index) { return *sites_[index].port; }

  // A frame of the Ethernet, as HostFrame::read() has it.
  void from_hosts(Bytes frame, Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  // Lets go of the packets that wait, before the pool goes.
  void drop_waiting();

  [[nodiscard]] const RoceCounters& counters() const { return counters_; }
  [[nodiscard]] const Stations& stations() const { return stations_; }
  // Packets of other sites that wait for the Ethernet, and keep their room in the tunnels.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Site {
    std::unique_ptr<link::Port> port;
    Allowance allowance;                         // of frames to all
    std::unique_ptr<link::PacketQueue> waiting;  // for the Ethernet, with their room in the tunnel
  };

  // link::PortOwner, of the ports to sites
  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port& port, link::PortState before, Time now) override;
  void wake(link::Port& port) override;

  void count(RoceCounter counter) { counters_.add_in_turn(counter); }
  void wake();
  [[nodiscard]] bool learn(const HostFrame& frame, Stations::Place place, RoceCounter conflict,
                           Time now);
  // What is carried at all; all else is counted.
  [[nodiscard]] bool is_carried(const HostFrame& frame);
  void send(const HostFrame& frame, link::Port& site, Time now);
  // False: the Ethernet takes none now.
  [[nodiscard]] bool deliver(const link::Packet& packet, std::size_t site, Time now);
  [[nodiscard]] bool is_for_hosts(const HostFrame& frame, std::size_t site, Time now);
  void deliver_waiting(std::size_t site, Time now);

  const RoceOptions options_;
  link::PacketPool& pool_;
  RoceUser& user_;
  RoceCounters counters_;
  Stations stations_;
  Allowance allowance_;  // of the hosts here
  std::vector<Site> sites_;
  bool woken_ = false;
};

}  // namespace weft::wan
