// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "daemon/lab/lab_hosts.h"
#include "mgmt/mad_sink.h"
#include "mgmt/port_agents.h"

namespace weft::daemon {

enum class CmMadCounter : std::uint8_t { kTxMads, kTxLost, kRxMads, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(CmMadCounter::kCount)>
    kCmMadCounterInfo{{
        {"qp1_tx_mads", "management datagrams sent"},
        {"qp1_tx_lost", "management datagrams that the node did not take"},
        {"qp1_rx_mads", "management datagrams received"},
    }};
using CmMadCounters = CounterSet<CmMadCounter, kCmMadCounterInfo>;

// The datagrams of a node's communication manager, through the MAD layer of its ports.
class CmMads final : public mgmt::MadSink, private mgmt::PortAgents::User {
 public:
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void received(Bytes mad, const hca::Path& from, PKey pkey) = 0;
  };

  // Of a channel adapter. `receiver` and `hosts` outlive it.
  CmMads(const LabHosts& hosts, std::size_t node, Receiver& receiver);
  ~CmMads() override;

  // Takes the class of connections at each port. address_in_use: a program has it.
  Expected<void> open();

  // mgmt::MadSink
  void send(const hca::Path& to, PKey pkey,
            std::span<const std::byte, mgmt::kMadSize> mad) override;

  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  // mgmt::PortAgents::User
  void received(mgmt::PortNumber port, const mgmt::ReceivedMad& mad) override;
  // None of them waits for an answer here: the manager sends again by itself.
  void finished(mgmt::PortNumber, std::uint64_t, mgmt::MadResult) override {}

  [[nodiscard]] fabric::Node& node() const { return hosts_.fabric().node(node_); }

  const LabHosts& hosts_;
  std::size_t node_;
  Receiver& receiver_;
  mgmt::PortAgents agents_;
  CmMadCounters counters_;
};

}  // namespace weft::daemon
