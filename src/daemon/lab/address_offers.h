// SPDX-License-Identifier: Apache-2.0
// Tells the subnet administrator which IP addresses the ports of a node have, as long as they are
// there, so that hosts of other labs in the subnet find them (address_records.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "daemon/lab/lab_hosts.h"
#include "io/reactor.h"
#include "mgmt/mad/mad_client.h"

namespace weft::daemon {

class AddressOffers final : private mgmt::MadClient, private fabric::Node::PortObserver {
 public:
  // Of a channel adapter. All outlive it. A port that takes no more users offers nothing.
  AddressOffers(const LabHosts& hosts, std::size_t node, io::Reactor& reactor);
  ~AddressOffers() override;
  AddressOffers(const AddressOffers&) = delete;
  AddressOffers& operator=(const AddressOffers&) = delete;

 private:
  // By what the administrator knows a port: what is offered holds as long as it stays the same.
  struct Seen {
    Lid lid;  // 0: it is not Active, or nobody has told it where the administrator is
    Lid manager;
    std::uint64_t gid_prefix = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  struct Offer {
    mgmt::PortNumber port = 0;
    mgmt::AgentId agent{};
    Seen seen;
    Time due = Time::max();
  };

  // mgmt::MadClient
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;
  // fabric::Node::PortObserver
  void port_changed(mgmt::PortNumber port, bool reregister) override;

  [[nodiscard]] fabric::Node& node() const { return hosts_.fabric().node(node_); }
  [[nodiscard]] Seen see(mgmt::PortNumber port) const;
  void again_after(mgmt::AgentId agent, Duration wait);
  void send_due(Time now);
  void send(Offer& offer, Time now);
  void set_timer();

  const LabHosts& hosts_;
  std::size_t node_;
  std::vector<Offer> offers_;
  std::uint32_t sent_ = 0;  // each has a TransactionID of its own
  io::Timer timer_;
};

}  // namespace weft::daemon
