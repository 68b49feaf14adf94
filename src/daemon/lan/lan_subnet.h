// SPDX-License-Identifier: Apache-2.0
// What a LAN port says and hears by management datagrams, at its port of a node of the lab: the
// questions of lan::Directory, the service that it offers, and its connections. The administrator
// is that of the subnet.
//
//   ask()         NodeRecords, ServiceRecords, PathRecords, PortInfoRecord -> administrator
//                 SIDR_REQ -> a peer's port
//   offer()       ServiceRecord, InformInfo of notices 64 and 65 -> administrator
//   join_group()  MCMemberRecord -> administrator
//   connect()     REQ -> a peer's port
//                 REQ of a peer -> LanSubnetOwner::asked()
//
// In the thread that drives the fabric and the reactor, and by io::now().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "daemon/lab/node_connections.h"
#include "daemon/lan/lan_connections.h"
#include "daemon/lan/lan_group.h"
#include "daemon/lan/lan_membership.h"
#include "daemon/lan/lan_place.h"
#include "daemon/lan/lan_questions.h"
#include "daemon/lan/lan_subnet_counters.h"
#include "daemon/lan/lan_subnet_owner.h"
#include "io/reactor.h"
#include "lan/directory.h"

namespace weft::daemon {

class LanSubnet final : private fabric::Node::PortObserver {
 public:
  // Of a port of the node that `connections` is of. All that is given outlives it.
  // invalid_argument: there is no such port. address_in_use: a LAN port is there already.
  // Otherwise as mgmt::MadPort::add_agent().
  static Expected<std::unique_ptr<LanSubnet>> open(NodeConnections& connections,
                                                   mgmt::PortNumber port, io::Reactor& reactor,
                                                   LanSubnetOwner& owner);
  LanSubnet(const LanSubnet&) = delete;
  LanSubnet& operator=(const LanSubnet&) = delete;
  // The service is withdrawn, and connections end; nothing is said of them to the owner.
  ~LanSubnet() override;

  // From now on the port offers the LAN's service whenever it is active, tells whoever asks that it
  // takes datagrams at `end`, and lets peers ask for connections. Another `end` replaces the one
  // before. Errors as of mgmt::MadPort::add_agent().
  Expected<void> offer(const lan::DatagramEnd& end);

  // From now on the port is in the multicast group of LAN ports, if the fabric has one for it.
  // Errors as of mgmt::MadPort::add_agent().
  Expected<void> join_group() { return group_.join(); }

  // As lan::DirectoryUser::ask() has it; `number` is one that has not been used before. False:
  // nobody can be asked now, since the port is not active, or knows of no subnet administrator.
  [[nodiscard]] bool ask(std::uint64_t number, const lan::Question& question);

  // What the node of a port calls itself; empty: nobody has said so.
  [[nodiscard]] std::string name_of(Guid port) const { return questions_.name_of(port); }

  // Asks the LAN port `port` for a connection by `path`, from a UC queue pair of ours in RESET.
  // address_not_available: the path begins at a LID that is not ours now. too_many_files_open.
  Expected<LanChannel> connect(Guid port, const lan::PeerPath& path, Qpn qpn) {
    return connections_.connect(port, path, qpn);
  }
  // The end of a channel, whatever becomes of it now: the peer is told, the owner is not. What is
  // no channel any more is ignored.
  void disconnect(LanChannel channel) { connections_.disconnect(channel); }
  // A message has come on a channel that is not connected() yet: so the peer is ready, and what it
  // has said of that may be lost.
  void heard(LanChannel channel) { connections_.heard(channel); }

  // The subnet administrator knows that the port offers the service, and tells of ports that come
  // and go.
  [[nodiscard]] bool offered() const { return membership_.offered(); }
  [[nodiscard]] bool told() const { return membership_.told(); }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  LanSubnet(NodeConnections& connections, mgmt::PortNumber port, io::Reactor& reactor,
            LanSubnetOwner& owner);
  // fabric::Node::PortObserver
  void port_changed(mgmt::PortNumber port, bool reregister) override;

  const LanPlace place_;
  LanSubnetCounters counters_;
  LanQuestions questions_;
  LanConnections connections_;
  LanMembership membership_;
  LanGroupMember group_;
};

}  // namespace weft::daemon
