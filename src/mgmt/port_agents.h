// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "mgmt/mad/mad_client.h"
#include "mgmt/mad_envelope.h"
#include "mgmt/node_management.h"

namespace weft::mgmt {

// An agent at each port of a channel adapter. Agents are numbered at each port anew, so it is the
// port that tells which of them has received something.
class PortAgents {
 public:
  // As MadClient has it, but for the port in place of the agent.
  class User {
   public:
    virtual ~User() = default;
    virtual void received(PortNumber port, const ReceivedMad& mad) = 0;
    virtual void finished(PortNumber port, std::uint64_t cookie, MadResult result) = 0;
  };

  // `user` outlives it, and `node` until close().
  PortAgents(NodeManagement& node, User& user) : node_(node), user_(user) {}
  PortAgents(const PortAgents&) = delete;
  PortAgents& operator=(const PortAgents&) = delete;
  ~PortAgents() { close(); }

  // At ports 1 to `ports`. Errors as of MadPort::add_agent(): then there are none.
  Expected<void> open(std::size_t ports, const AgentRequest& request);
  void close();

  // One of the ports that it was opened with.
  [[nodiscard]] AgentId at(PortNumber port) const { return clients_[port - 1u].agent; }
  Expected<void> send(PortNumber port, const MadRequest& request, Time now) {
    return node_.mad_port(port).send(at(port), request, now);
  }

 private:
  struct Client final : MadClient {
    Client(PortNumber its_port, User& its_user) : port(its_port), user(its_user) {}
    void received(AgentId, const ReceivedMad& mad) override { user.received(port, mad); }
    void finished(AgentId, std::uint64_t cookie, Bytes, MadResult result) override {
      user.finished(port, cookie, result);
    }
    PortNumber port;
    User& user;
    AgentId agent{};
  };

  NodeManagement& node_;
  User& user_;
  std::deque<Client> clients_;  // of port 1 and up; they stay where they are
};

}  // namespace weft::mgmt
