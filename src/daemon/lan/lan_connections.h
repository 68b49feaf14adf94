// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/error.h"
#include "daemon/lab/node_connections.h"
#include "daemon/lan/lan_place.h"
#include "daemon/lan/lan_subnet_counters.h"
#include "daemon/lan/lan_subnet_owner.h"
#include "lan/directory.h"
#include "mgmt/cm_events.h"

namespace weft::daemon {

// What a LAN port and its peers say to each other by the connection manager of the node, which
// they share with rdma_cm: where they take datagrams (SIDR), and connections.
class LanConnections final : private mgmt::EventSink {
 public:
  // All that is given outlives it.
  LanConnections(NodeConnections& connections, const LanPlace& place, LanSubnetCounters& counters,
                 LanSubnetOwner& owner)
      : connections_(connections), place_(place), counters_(counters), owner_(owner) {}
  LanConnections(const LanConnections&) = delete;
  LanConnections& operator=(const LanConnections&) = delete;
  // Connections end; the peers are told.
  ~LanConnections() override;

  // Listens for the LAN's service at the port's address of now. address_in_use: somebody does.
  Expected<void> open();
  // The address of the port may be another one.
  void port_changed();
  void offer(const lan::DatagramEnd& end) { end_ = end; }

  // LanSubnet::ask() of kind kEnd, and the others of LanSubnet by these names.
  [[nodiscard]] bool ask(std::uint64_t number, const lan::Question& question);
  Expected<LanChannel> connect(Guid port, const lan::PeerPath& path, Qpn qpn);
  void disconnect(LanChannel channel);
  void heard(LanChannel channel);

 private:
  // Of all of a port together, rdma_cm's left out: made and being made.
  static constexpr std::size_t kMostChannels = 2048;

  struct Channel {
    Qpn qpn{};
    bool connected = false;
  };

  // mgmt::EventSink
  void on_event(const mgmt::CmEvent& event) override;
  void on(const mgmt::CmEvent& event, const mgmt::SidrRequest& what);
  void on(const mgmt::CmEvent& event, const mgmt::SidrReply& what);
  void on(const mgmt::CmEvent& event, const mgmt::ConnectRequest& what);
  void on(const mgmt::CmEvent& event, const mgmt::ConnectResponse& what);
  void on(const mgmt::CmEvent& event, const mgmt::Established& what);
  void on(const mgmt::CmEvent& event, const mgmt::Rejected& what);
  void on(const mgmt::CmEvent& event, const mgmt::Unreachable& what);
  void on(const mgmt::CmEvent& event, const mgmt::Disconnected& what);
  void on(const mgmt::CmEvent& event, const mgmt::AlternatePathRequest& what);
  void on(const mgmt::CmEvent& event, const mgmt::MoreTime& what);
  void on(const mgmt::CmEvent& event, const mgmt::TimewaitExit& what);
  void on(const mgmt::CmEvent& event, const mgmt::AlternatePathReply& what);

  Expected<void> listen();
  [[nodiscard]] hca::Path path_to(Guid port, const lan::PeerPath& path) const;
  [[nodiscard]] lan::Answer end_of(const mgmt::SidrReply& what);
  void answer_sidr(mgmt::CmId question, const lan::Answer& answer);
  void refuse(mgmt::CmId request, mgmt::RejectReason reason, Time now);
  // False: the owner has ended the channel meanwhile, or its queue pair cannot be used.
  bool modify(LanChannel channel, hca::QpState to, Time now);
  void established(LanChannel channel);
  void end(LanChannel channel, LanChannelEnd why, Time now);
  [[nodiscard]] mgmt::ConnectionManager& manager() { return connections_.manager(); }

  NodeConnections& connections_;
  const LanPlace& place_;
  LanSubnetCounters& counters_;
  LanSubnetOwner& owner_;
  std::optional<lan::DatagramEnd> end_;  // that is told; nothing: nobody is, and may connect
  Gid listens_at_{};
  mgmt::CmId listener_{};
  std::map<mgmt::CmId, std::uint64_t> asked_;  // numbers of questions
  std::map<LanChannel, Channel> channels_;
};

}  // namespace weft::daemon
