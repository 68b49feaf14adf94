// SPDX-License-Identifier: Apache-2.0
// The MAD layer of a port, as managers use it: that of a node in the same process (mad_port.h), or
// one that is reached over a socket.
#pragma once

#include "base/error.h"
#include "base/time.h"
#include "mgmt/mad/mad_client.h"

namespace weft::mgmt {

class MadLayer {
 public:
  virtual ~MadLayer() = default;

  // address_in_use: another agent has one of the methods of this class, version and OUI;
  // invalid_argument: RMPP where the class has none; no_buffer_space: too many agents.
  // `client` must outlive its agent.
  virtual Expected<AgentId> add_agent(const AgentRequest& request, MadClient& client) = 0;
  // Forgets its requests; nothing more is said to its client. False: there is no such agent.
  virtual bool remove_agent(AgentId agent) = 0;

  // invalid_argument: a datagram for the other queue pair than that of the agent's class (which it
  // need not be of, as on Linux), an index outside the port's tables, or a TransactionID that still
  // waits; message_size: too long; no_buffer_space: too many wait. Whoever cannot see that at once
  // says later that the request has ended.
  virtual Expected<void> send(AgentId agent, const MadRequest& request, Time now) = 0;
};

}  // namespace weft::mgmt
