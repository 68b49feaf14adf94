// SPDX-License-Identifier: Apache-2.0
// LAN ports of several nodes in virtual time, over a fabric that loses, doubles and delays
// datagrams, and breaks paths; with hosts that send frames which can be told apart, and answer
// queries of groups. Whatever a host is given is checked; what it is not given must be accounted
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "lan/lan_port.h"
#include "lan/segments.h"
#include "sim/scheduler.h"

namespace weft::lan::test {

struct Faults {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;     // arrives up to `delay` times ten later
  double unanswered = 0;  // of questions
  Duration delay = 5us;
};

class World;

class Node final : public LanUser {
 public:
  Node(World& world, std::size_t index, const PortLids& lids, std::uint16_t mtu, bool bridge);

  void start();
  // What the kernel behind it does.
  void send(const MacAddress& to, std::size_t size) { send_from(port->mac(), to, size); }
  void send_from(const MacAddress& station, const MacAddress& to, std::size_t size);
  void join(std::uint8_t group);
  void leave(std::uint8_t group);
  // The group of the fabric; what others send to it comes then.
  void join_fabric_group();
  void leave_fabric_group();

  void to_host(const Offload& offload, Bytes frame) override;
  bool send_message(PeerId peer, Bytes head, Bytes frame) override;
  std::size_t send_datagrams(std::span<const PeerId> peers, const LanHeader& header,
                             Bytes frame) override;
  bool send_to_group(const LanHeader& header, Bytes frame) override;
  void connect(PeerId peer) override;
  void disconnect(PeerId peer) override;
  bool ask(std::uint64_t number, const Question& question, Time now) override;
  void peer_came(PeerId peer) override;
  void peer_moved(PeerId peer) override;
  void peer_went(PeerId peer) override;

  void wake();  // after everything that was done to the port
  [[nodiscard]] std::optional<PeerId> peer_of(const Node& other) const;

  World& world;
  const std::size_t index;
  const Guid guid;
  PortLids lids;
  const std::uint16_t mtu;  // of the paths to it
  const bool bridge;
  Qpn qpn{};
  bool alive = true;
  bool in_fabric_group = false;
  std::unique_ptr<LanPort> port;
  std::set<std::uint8_t> joined;
  std::map<PeerId, std::uint64_t> connections;  // their numbers
  unsigned moves = 0;                           // of peers, to other paths or LIDs

 private:
  void report(std::uint8_t group, bool leaves);
  void send_part(Bytes frame, const Segments& segments, Node& to, const PeerPath& path, Qpn qpn);
  std::optional<Time> alarm_;
};

class World {
 public:
  // The first so many of the nodes are bridges.
  World(std::uint64_t seed, std::size_t nodes, const Faults& faults, std::size_t bridges = 0);

  void run_for(Duration time) { scheduler.run_until(scheduler.now() + time); }
  // Sends so many frames of every kind, in as long as that takes.
  void traffic(std::size_t frames);
  // A port goes down or comes up again, which the subnet administrator tells the others.
  void set_alive(Node& node, bool alive);
  [[nodiscard]] static MacAddress group(std::uint8_t number) {
    return {0x01, 0x00, 0x5E, 0x01, 0x07, number};
  }
  // What was not delivered was lost by the fabric, or counted by whom it came to.
  void account() const;
  [[nodiscard]] std::size_t delivered(std::uint64_t frame) const;
  [[nodiscard]] bool delivered(std::uint64_t frame, const Node& to) const;

  // For nodes.
  void sent(Bytes frame, std::size_t to, bool by_group = false);
  void lost(Bytes frame, std::size_t to);
  void arrived(Node& node, Bytes frame);
  [[nodiscard]] Node* node_at(Lid lid);
  [[nodiscard]] Node* node_with(Guid guid);
  [[nodiscard]] std::vector<std::byte> make_frame(const MacAddress& to, const MacAddress& from,
                                                  std::size_t size);

  sim::Scheduler scheduler;
  Random random;
  Faults faults;
  std::set<Lid> broken;  // paths to these lead nowhere
  bool groups_settled = false;
  std::uint64_t last_connection = 0;
  std::uint64_t last_frame = 0;
  std::vector<std::unique_ptr<Node>> nodes;

 private:
  struct Sent {
    std::size_t from = 0;
    std::vector<std::byte> bytes;
  };
  struct Copy {
    unsigned sent = 0;
    bool by_group = false;  // as to all in the fabric's group: who has just joined it gets both
    unsigned arrived = 0;
    bool lost = false;
  };
  [[nodiscard]] static std::optional<std::uint64_t> number_of(Bytes frame);

  std::map<std::uint64_t, Sent> frames_;
  std::map<std::pair<std::uint64_t, std::size_t>, Copy> copies_;  // of a frame to a node
};

}  // namespace weft::lan::test
