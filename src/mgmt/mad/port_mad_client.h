// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "mgmt/mad/mad_client.h"
#include "mgmt/mad_envelope.h"

namespace weft::mgmt {

// Whoever has an agent at each of several ports. Agents are numbered at each port anew, so it is
// the port that tells which of them has received something.
class SeveralPortsClient {
 public:
  virtual ~SeveralPortsClient() = default;
  virtual void received(PortNumber port, const ReceivedMad& mad) = 0;
  virtual void finished(PortNumber port, std::uint64_t cookie, MadResult result) = 0;
};

// Its agent at one port. Stays where it is as long as the port's MAD layer knows it.
class PortMadClient final : public MadClient {
 public:
  PortMadClient(PortNumber port, SeveralPortsClient& user) : port_(port), user_(user) {}
  PortMadClient(const PortMadClient&) = delete;
  PortMadClient& operator=(const PortMadClient&) = delete;

  void received(AgentId, const ReceivedMad& mad) override { user_.received(port_, mad); }
  void finished(AgentId, std::uint64_t cookie, Bytes, MadResult result) override {
    user_.finished(port_, cookie, result);
  }

  [[nodiscard]] PortNumber port() const { return port_; }
  AgentId agent{};  // that it is the client of; none as long as it is zero

 private:
  const PortNumber port_;
  SeveralPortsClient& user_;
};

}  // namespace weft::mgmt
