// SPDX-License-Identifier: Apache-2.0
// The MAD layer of one port: it shares queue pairs 0 and 1 among agents, matches answers with
// requests, sends again what is not answered, and carries long messages (RMPP). What the agents of
// the node itself (subnet and performance management) take does not come here.
//
//   agent -> send -> [RMPP] -> outlet          requests get TransactionID = agent : low 32 bits
//   receive -> [RMPP] -> by TransactionID (answers) or by class, version, method -> agent
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/time.h"
#include "mgmt/mad/mad_layer.h"
#include "mgmt/mad_envelope.h"
#include "mgmt/managed_node.h"

namespace weft::mgmt {

struct MadLimits {
  std::size_t agents = 1024;                        // of one port
  std::size_t requests = 8192;                      // that wait for an answer, of one agent
  std::size_t message = std::size_t{64} << 20;      // one RMPP message, bytes
  std::size_t reassembly = std::size_t{128} << 20;  // all that are being put together, bytes
  std::size_t reassemblies = 256;                   // and their number
};

class MadPort final : public MadLayer {
 public:
  // `port` as PortInfo counts: 0 on a switch. `outlet` takes everything, what is for this port
  // itself included.
  MadPort(ManagedNode& node, PortNumber port, MadOutlet& outlet, const MadLimits& limits = {});
  ~MadPort() override;
  MadPort(const MadPort&) = delete;
  MadPort& operator=(const MadPort&) = delete;

  Expected<AgentId> add_agent(const AgentRequest& request, MadClient& client) override;
  bool remove_agent(AgentId agent) override;
  Expected<void> send(AgentId agent, const MadRequest& request, Time now) override;
  // Forgets a request of this cookie; nothing is said of it. False: none waits.
  bool cancel(AgentId agent, std::uint64_t cookie);

  // What came in and is for agents. False: nobody wants it, and for a request somebody has to say
  // so.
  bool receive(const MadEnvelope& envelope, wire::MadBytes mad, Time now);

  // Sends again, gives up, sends what windows allow.
  void run(Time now);
  // When run() has something to do of its own accord.
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  struct State;
  std::unique_ptr<State> state_;  // made for the first agent: most ports of a lab have none
};

}  // namespace weft::mgmt
