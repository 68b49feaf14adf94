// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "port/port.h"
#include "port/udp/lease.h"
#include "port/udp/source_choice.h"
#include "port/udp/udp_inlet.h"
#include "port/udp/udp_shared.h"

namespace weft::port {

// A queue pair's number, and the socket that it sends through.
class UdpEndpoint final : public Endpoint {
 public:
  // Who else sends through the inlet's socket, and where to. Alone with one peer, what is to be
  // said of each datagram can be said once, to the socket.
  enum class Senders : std::uint8_t { kOnePeer, kMany };
  // `lease`: on the number; ends before the socket is closed.
  UdpEndpoint(std::shared_ptr<UdpShared> shared, std::shared_ptr<UdpInlet> inlet, Qpn qpn,
              Lease lease, Senders senders = Senders::kMany);
  ~UdpEndpoint() override { inlet_->detach_all(qpn_); }

  [[nodiscard]] Qpn qpn() const override { return qpn_; }
  [[nodiscard]] const std::shared_ptr<Inlet>& inlet() const override { return seen_inlet_; }
  // What is too long for the path goes in fragments from then on, where the wire allows that.
  hca::SendResult send(const hca::Burst& burst) override;
  [[nodiscard]] bool same_way(const hca::Burst& first, const hca::Burst& next) const override;
  std::optional<hca::SendResult> send_together(std::span<const hca::Burst* const> bursts) override;
  Expected<void> attach(const Gid& group) override { return inlet_->attach(group, qpn_); }
  Expected<void> detach(const Gid& group) override { return inlet_->detach(group, qpn_); }

 private:
  [[nodiscard]] bool build(std::span<const hca::Burst* const> bursts,
                           Identification identification);
  [[nodiscard]] bool build(const hca::Burst& burst, Identification identification) {
    const hca::Burst* const one = &burst;
    return build({&one, 1}, identification);
  }
  // To where `burst` goes, the frames that were built.
  [[nodiscard]] io::SendDatagram address(const hca::Burst& burst);
  [[nodiscard]] std::optional<std::uint8_t> hops_to_name(const hca::Path& path);
  hca::SendResult try_send(const hca::Burst& burst);
  void record_tapped(const hca::Burst& burst);
  hca::SendResult send_singly(const hca::Burst& burst, io::SendDatagram& datagram);
  hca::SendResult outcome(const io::IoResult& result, std::size_t packets);

  std::shared_ptr<UdpShared> shared_;
  std::shared_ptr<UdpInlet> inlet_;
  std::shared_ptr<Inlet> seen_inlet_;  // the same, as the owner sees it
  Qpn qpn_;
  const Senders senders_;
  std::uint8_t socket_hops_ = 0;       // by the sending thread; see hca::Path::hop_limit
  SourceChoice source_choice_;         // by the sending thread
  bool segmentation_refused_ = false;  // by the sending thread
  bool too_long_ = false;              // the same; something was, since it was last asked
  Lease lease_;
};

}  // namespace weft::port
