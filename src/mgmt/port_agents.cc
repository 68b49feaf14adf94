// SPDX-License-Identifier: Apache-2.0
#include "mgmt/port_agents.h"

namespace weft::mgmt {

Expected<void> PortAgents::open(std::size_t ports, const AgentRequest& request) {
  for (std::size_t number = 1; number <= ports; ++number) {
    Client& client = clients_.emplace_back(static_cast<PortNumber>(number), user_);
    const auto agent = node_.mad_port(client.port).add_agent(request, client);
    if (!agent) {
      clients_.pop_back();
      close();
      return tl::unexpected(agent.error());
    }
    client.agent = *agent;
  }
  return {};
}

void PortAgents::close() {
  for (const Client& client : clients_)
    node_.mad_port(client.port).remove_agent(client.agent);
  clients_.clear();
}

}  // namespace weft::mgmt
