// SPDX-License-Identifier: Apache-2.0
// The driver of a LAN port: joins an Ethernet interface of a host, the LAN port as a core, and
// queue pairs at a port of the fabric, in the thread that drives the fabric.
//
//   host's kernel <-> HostInterface <-> LanPort <-> LanQueuePairs <-> port of the fabric
//                                          |
//                                      LanSubnet: who is there, connections
//
// The interface is made when the port has its LIDs and is active for the first time, and goes with
// the driver. Its address follows the LIDs, unless the host gives it another one, and its carrier
// the state of the port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/connection_managers.h"
#include "daemon/lan/host_interface.h"
#include "daemon/lan/lan_notes.h"
#include "daemon/lan/lan_queue_pairs.h"
#include "daemon/lan/lan_report.h"
#include "daemon/lan/lan_subnet.h"
#include "daemon/lan/lan_turns.h"
#include "fabric/fabric.h"
#include "io/reactor.h"
#include "lan/lan_port.h"

namespace weft::daemon {

enum class LanDriverCounter : std::uint8_t { kTxUnknownOffload, kTxHeld, kRxHostRefused, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LanDriverCounter::kCount)>
    kLanDriverCounters{{
        {"tx_unknown_offload", "frames dropped: what the kernel leaves to do is not known here"},
        {"tx_held", "times that frames had to wait with the host, for want of room"},
        {"rx_host_refused", "frames dropped: the host's kernel does not take them now"},
    }};

struct LanDriverOptions {
  std::string node;
  mgmt::PortNumber port = 1;
  std::string interface = "lan%d";  // as io::TapOptions have it
  std::string network_namespace;
  std::uint32_t mtu = 1500;  // at first, kLeastMtu to lan::kMostMtu: people may change it
  unsigned queues = 1;
  bool offloads = true;
  std::size_t channels = 256;  // at most; 0: datagrams alone
  // As lan::LanOptions have it; nothing: while the interface is a port of a bridge of its host.
  std::optional<bool> bridge{};
};

class LanDriver final : private LanTurns::Member,
                        private lan::LanUser,
                        private LanQueuePairs::User,
                        private LanSubnetOwner {
 public:
  static constexpr std::uint32_t kLeastMtu = 68;  // RFC 791, 3.2

  // All of it outlives the driver, which has its turns outside of the fabric's run(): before it,
  // for what the host has, and after it, for what has come.
  struct Surroundings {
    fabric::Fabric& fabric;
    io::Reactor& reactor;
    Entropy& entropy;
    ConnectionManagers& connections;
    LanTurns& turns;
  };

  // no_such_device: as no_such_node() has it, or it has no such port. invalid_argument: the MTU.
  // Others as of LanSubnet::open(). If the port is active, the interface is made now, with errors
  // as of io::TapInterface::make(); otherwise report() says what has become of it.
  static Expected<std::unique_ptr<LanDriver>> open(const LanDriverOptions& options,
                                                   const Surroundings& surroundings);
  LanDriver(const LanDriver&) = delete;
  LanDriver& operator=(const LanDriver&) = delete;
  // Never from inside of the fabric's run() or of the reactor's.
  ~LanDriver() override;

  [[nodiscard]] const LanDriverOptions& options() const { return options_; }
  // As LanDriverOptions::bridge. Never from inside of work().
  void set_bridge(std::optional<bool> bridge, Time now);
  [[nodiscard]] LanReport report() const;

 private:
  // From connect() or asked() on.
  struct ChannelEnd {
    lan::PeerId peer = 0;
    Qpn queue_pair{};
    lan::PeerPath path{};    // that it was made for,
    lan::DatagramEnd end{};  // and where its peer took datagrams then
    bool up = false;
  };

  LanDriver(const LanDriverOptions& options, const Surroundings& surroundings);

  // LanTurns::Member
  bool work(Time now, bool look) override;
  [[nodiscard]] Time deadline() const override;
  [[nodiscard]] bool lively(Time now) const override { return held_ || now < lively_until_; }
  // Something has happened that work() is for.
  void wake() {
    if (!working_) surroundings_.turns.ready(*this);
  }

  // What becomes of the port, and so of the interface.
  Expected<void> follow_port();
  Expected<void> port_active(const lan::PortLids& lids);
  Expected<void> begin(const lan::PortLids& lids);
  Expected<void> make_interface();
  void lose_interface(std::string why);
  void follow_host();
  void announce();
  [[nodiscard]] bool bridges() const { return options_.bridge.value_or(in_bridge_); }

  void describe(LanReport& out) const;

  // Frames.
  bool read_host(bool look);
  void adapt_burst(std::size_t frames);
  void take_from_host(MutableBytes read);
  // lan::LanUser
  void to_host(const lan::Offload& offload, Bytes frame) override;
  bool send_message(lan::PeerId peer, Bytes head, Bytes frame) override;
  std::size_t send_datagrams(std::span<const lan::PeerId> peers, const lan::LanHeader& header,
                             Bytes frame) override;
  bool send_to_group(const lan::LanHeader& header, Bytes frame) override;
  bool ask(std::uint64_t number, const lan::Question& question, Time now) override;
  void peer_came(lan::PeerId) override {}
  void peer_moved(lan::PeerId peer) override;
  void peer_went(lan::PeerId) override {}
  // LanQueuePairs::User
  void datagram_came(const lan::Sender& sender, Qpn queue_pair, Bytes message) override;
  void message_came(lan::PeerId peer, Bytes message) override;
  void touched() override { wake(); }

  // lan_driver_channels.cc
  void connect(lan::PeerId peer) override;
  void disconnect(lan::PeerId peer) override;
  // LanQueuePairs::User
  void channel_heard(lan::PeerId peer, Qpn queue_pair) override;
  // LanSubnetOwner
  void answered(std::uint64_t number, const lan::Answer& answer) override;
  void in_service(Guid port) override;
  void out_of_service(Guid port) override;
  void paths_changed() override;
  void group_joined(const LanGroup& group) override;
  void group_left() override;
  std::optional<Qpn> asked(LanChannel channel, const lan::Sender& sender) override;
  bool modify(LanChannel channel, const mgmt::QpTransition& step) override;
  void connected(LanChannel channel) override;
  void ended(LanChannel channel, LanChannelEnd why) override;
  void keep(LanChannel channel, lan::PeerId peer, Qpn queue_pair);
  void forget(LanChannel channel);
  void leave(LanChannel channel);
  // The port was away from the subnet, or others may take it for that: connections to peers that
  // have given it up, and could not say so, lead nowhere.
  void leave_all();
  // What could not be said from inside of the LAN port's calls.
  bool catch_up();

  LanDriverOptions options_;
  const Surroundings surroundings_;
  const Guid port_guid_;
  std::uint32_t mtu_;       // of the host's interface
  MacAddress host_mac_{};   // which it has: that of lan_, unless the host has given it another one
  bool in_bridge_ = false;  // it is a port of a bridge
  Time now_{};
  bool working_ = false;  // in work(), which finds what there is to do
  std::unique_ptr<LanQueuePairs> queue_pairs_;
  std::unique_ptr<LanSubnet> subnet_;
  std::optional<lan::LanPort> lan_;           // from when the port is active for the first time on
  std::unique_ptr<HostInterface> interface_;  // null: there is none, or not any more
  lan::PortLids lids_{};                      // of lan_
  bool active_ = false;                       // the port
  std::string failed_;                        // why there is no interface, though there could be
  std::vector<Time> announce_at_;             // its address to neighbours, the last one first
  bool held_ = false;                         // frames of the host wait for room
  std::size_t burst_ = 1;                     // frames that are read of it in one turn, at most
  unsigned one_by_one_ = 0;                   // frames that were read so, one after the other
  Time lively_until_{};                       // since the host had frames
  Time notes_due_ = Time::max();              // when notes_ is to look
  CounterSet<LanDriverCounter, kLanDriverCounters> counters_;
  LanNotes notes_;

  std::unordered_map<LanChannel, ChannelEnd> channels_;
  std::unordered_map<lan::PeerId, LanChannel> channel_of_;  // the one that the LAN port knows of
  std::vector<lan::PeerId> not_made_;  // channels that could not even be asked for
  std::vector<lan::PeerId> moved_;     // their channels lead where they were
};

}  // namespace weft::daemon
