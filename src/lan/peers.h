// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "lan/lan_address.h"

namespace weft::lan {

// A small number, of which one that has gone is given to another peer.
using PeerId = std::uint16_t;

// A way to a port, of those that the subnet administrator has.
struct PeerPath {
  Lid slid{};  // which of our own LIDs
  Lid dlid{};
  Sl sl{};
  std::uint16_t mtu = 256;  // bytes of payload that a packet may have: 256 to 4096
  // Packets need a GRH: the DLID is that of a data service, which knows by the DGID where they are
  // to go.
  bool global = false;
  friend bool operator==(const PeerPath&, const PeerPath&) = default;
};

// Who has sent something, as the fabric says.
struct Sender {
  Lid lid{};                   // where it came from: the port's own, or a data service's
  std::optional<Guid> port{};  // whose the SGID of its GRH is, if it has one
};

// The primary path, and a secondary one, which differs from it in a LID, if there is any.
struct PeerPaths {
  static constexpr std::size_t kMost = 2;

  std::array<PeerPath, kMost> path{};
  std::size_t count = 0;  // 1 or kMost

  friend bool operator==(const PeerPaths&, const PeerPaths&) = default;
  // Of those that the subnet administrator has, the best first; nothing: there are none.
  [[nodiscard]] static std::optional<PeerPaths> choose(std::span<const PeerPath> all);
};

// Where a port takes datagrams of the LAN.
struct DatagramEnd {
  Qpn qpn{};
  QKey qkey{};
  friend bool operator==(const DatagramEnd&, const DatagramEnd&) = default;
};

// Another LAN port of the subnet.
struct Peer {
  Guid port{};
  PortLids lids{};
  PeerPaths paths{};
  DatagramEnd end{};
  std::size_t use = 0;                                         // which of the paths
  std::array<std::optional<Time>, PeerPaths::kMost> failed{};  // when each did for the last time

  [[nodiscard]] const PeerPath& path() const { return paths.path[use]; }
};

// The peers of a LAN port, found by any of their LIDs, or by their GUID, at the cost of one look.
class Peers {
 public:
  explicit Peers(std::size_t most);

  // Nothing: there are as many as there may be.
  std::optional<PeerId> add(const Peer& peer);
  void remove(PeerId id);
  // Its LIDs, or whatever else has changed.
  void replace(PeerId id, const Peer& peer);

  [[nodiscard]] std::optional<PeerId> find(Lid lid) const {
    const PeerId id = lid.value() < by_lid_.size() ? by_lid_[lid.value()] : kNobody;
    return id == kNobody ? std::nullopt : std::optional(id);
  }
  // By the LID, for which the switches vouch. What comes through a data service has its LID, as
  // others' has: whose it is its GRH says, which is believed where our own way there leads through
  // the same service.
  [[nodiscard]] std::optional<PeerId> find(const Sender& sender) const;
  [[nodiscard]] const Peer& get(PeerId id) const { return *peers_[id]; }
  // All there are, in no order.
  [[nodiscard]] std::span<const PeerId> all() const { return all_; }
  [[nodiscard]] std::size_t most() const { return peers_.size(); }

 private:
  static constexpr PeerId kNobody = 0xFFFF;
  void map(const PortLids& lids, PeerId from, PeerId to);

  std::vector<std::optional<Peer>> peers_;
  std::vector<PeerId> all_;
  std::vector<PeerId> free_;
  std::vector<PeerId> by_lid_;  // of unicast LIDs
  std::unordered_map<Guid, PeerId> by_port_;
};

}  // namespace weft::lan
