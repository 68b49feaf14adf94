// SPDX-License-Identifier: Apache-2.0
// The MAD layer of a port of a lab's node, for a process other than the lab's daemon: over the
// socket that libibumad's programs use (umad/protocol.h).
//
// What the layer in the daemon would refuse at once, as too many requests, ends as one that nobody
// answered. Of answers to others nothing is heard once they are sent; those that RMPP could not
// deliver come back with cookie 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "mgmt/mad/mad_layer.h"
#include "umad/connection.h"

namespace weft::daemon {

class RemoteMadLayer final : public mgmt::MadLayer {
 public:
  // `reactor` outlives it; clients are called from its turns. Errors: the lab has no such node, or
  // the node no such port, in words for a person.
  static Expected<std::unique_ptr<RemoteMadLayer>> open(const umad::Place& place,
                                                        std::uint32_t port, io::Reactor& reactor);
  ~RemoteMadLayer() override;
  RemoteMadLayer(const RemoteMadLayer&) = delete;
  RemoteMadLayer& operator=(const RemoteMadLayer&) = delete;

  Expected<mgmt::AgentId> add_agent(const mgmt::AgentRequest& request,
                                    mgmt::MadClient& client) override;
  bool remove_agent(mgmt::AgentId agent) override;
  // Waits while the daemon does not read.
  Expected<void> send(mgmt::AgentId agent, const mgmt::MadRequest& request, Time now) override;

  // Why nothing comes any more; nothing: it does.
  [[nodiscard]] const std::optional<Error>& ended() const { return ended_; }

 private:
  struct Agent {
    std::uint32_t number = 0;  // the daemon's
    mgmt::MadClient* client = nullptr;
    // Cookies of requests that wait, by the lower half of their TransactionIDs, which is as it was.
    std::map<std::uint32_t, std::uint64_t> waiting{};
  };

  explicit RemoteMadLayer(io::UniqueFd connection);
  Expected<void> watch(io::Reactor& reactor);
  void read_all();
  void on_message(Bytes message, int file);
  void hand_out(const umad::protocol::Mad& header, Bytes datagram);
  void end(Error why);

  io::UniqueFd connection_;
  std::vector<std::byte> buffer_;
  std::map<mgmt::AgentId, Agent> agents_;
  std::uint32_t last_agent_ = 0;
  std::optional<Error> ended_;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
