// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "daemon/lab/mad_node.h"
#include "daemon/lab/mad_outbox.h"
#include "daemon/lab/other_users.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "mgmt/mad/mad_client.h"
#include "umad/protocol.h"

namespace weft::daemon {

class MadServer;

// One connection of a program that manages a port. What it says is checked; what makes no sense
// ends the connection. Its agents go when it does.
class MadSession final : private mgmt::MadClient {
 public:
  MadSession(MadServer& server, std::uint64_t id, io::UniqueFd socket, OtherUsers::Place place);
  ~MadSession() override;

  Expected<void> start();

 private:
  // Long messages of one program that are on their way into the fabric, bytes.
  static constexpr std::size_t kMostSending = std::size_t{128} << 20;

  // These are false when the connection is over.
  void on_ready(std::uint32_t events);
  bool read_all();
  bool on_message(Bytes message, io::UniqueFd descriptor);
  bool on_hello(Bytes message);
  bool on_register(Bytes message, const io::UniqueFd& answer);
  bool on_unregister(Bytes message, const io::UniqueFd& answer);
  bool on_mad(Bytes message, const io::UniqueFd& file);
  bool on_taken(Bytes message);
  bool nonsense();  // counts it

  bool welcome(const umad::protocol::Welcome& answer);
  bool turn_away(const Error& why);
  // To the program, unless it does not read.
  void put(const umad::protocol::Mad& header, Bytes datagram);
  // A datagram of the program that got nowhere comes back, as far as its header.
  void give_back(std::uint32_t agent, Bytes datagram, int error);
  void send(const umad::protocol::Mad& header, Bytes datagram);
  void watch_for_room();
  // Long messages count until they have ended.
  void ended(std::uint64_t cookie);

  // mgmt::MadClient
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;

  [[nodiscard]] mgmt::MadPort& port() const { return node_->management->mad_port(port_); }
  [[nodiscard]] std::optional<std::uint32_t> index_of(mgmt::AgentId agent) const;

  MadServer& server_;
  std::uint64_t id_;
  io::UniqueFd socket_;
  const OtherUsers::Place place_;
  MadOutbox outbox_;
  std::vector<std::byte> buffer_;
  bool has_said_hello_ = false;
  std::optional<MadNode> node_;  // the port is open
  mgmt::PortNumber port_ = 0;
  std::array<std::optional<mgmt::AgentId>, umad::protocol::kMostAgents> agents_;
  std::map<std::uint64_t, std::size_t> sending_;  // bytes of long messages, by their cookies
  std::size_t sending_bytes_ = 0;
  std::uint64_t last_cookie_ = 0;
  bool watching_for_room_ = false;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
