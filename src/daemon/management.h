// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "hca/datagram.h"
#include "io/reactor.h"
#include "mgmt/mad_sink.h"
#include "port/port.h"

namespace weft::daemon {

enum class ManagementCounter { kTxMads, kTxLost, kRxMads, kRxMalformed, kRxForeign, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ManagementCounter::kCount)>
    kManagementCounterInfo{{
        {"qp1_tx_mads", "management datagrams sent"},
        {"qp1_tx_lost", "management datagrams that the wire did not take"},
        {"qp1_rx_mads", "management datagrams received"},
        {"qp1_rx_malformed", "packets to queue pair 1 that are no management datagrams"},
        {"qp1_rx_foreign", "packets to queue pair 1 with another Q_Key or partition"},
    }};
using ManagementCounters = CounterSet<ManagementCounter, kManagementCounterInfo>;

// Queue pair 1 of a wire: the general services interface (IBA 13.5.1), reduced to what the
// connection manager needs.
class Management final : public mgmt::MadSink, private port::DatagramSink {
 public:
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void received(Bytes mad, const hca::Path& from) = 0;
    // The network says that a datagram did not arrive. `mad`: what is quoted of it, its front.
    virtual void undelivered(Bytes mad, const Gid& destination) = 0;
  };

  // Reads in the reactor's thread. `port` must be of all interfaces and outlive this, and so must
  // `receiver`.
  static Expected<std::unique_ptr<Management>> open(port::Port& port, io::Reactor& reactor,
                                                    Receiver& receiver);

  // Takes what has come, and what faults on purpose have held back until now.
  void receive();

  // The management datagram in a packet to queue pair 1, BTH and ICRC around it, or at the front of
  // what is sent from it; empty when it is none.
  [[nodiscard]] static Bytes mad_in(Bytes frame);
  [[nodiscard]] static Bytes mad_in(const hca::Burst& burst);

  // There is one partition on a wire of IP, whatever the key.
  void send(const hca::Path& to, PKey, std::span<const std::byte, mgmt::kMadSize> mad) override;
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  Management(std::unique_ptr<port::Endpoint> endpoint, Receiver& receiver)
      : endpoint_(std::move(endpoint)), receiver_(receiver) {}
  void deliver(const hca::InDatagram& datagram) override;
  void undelivered(const hca::Undelivered& packet) override;
  void end_run() override {}

  std::unique_ptr<port::Endpoint> endpoint_;
  Receiver& receiver_;
  hca::Burst burst_;
  Psn psn_{};
  ManagementCounters counters_;
  std::vector<io::Reactor::Registration> watches_;  // ended before the endpoint is closed
};

}  // namespace weft::daemon
