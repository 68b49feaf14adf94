// SPDX-License-Identifier: Apache-2.0
// A lab: the nodes of a fabric and the links between them, before any of it runs. Lab files,
// listings of other fabrics and generators all come to this (docs/fabric.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "fabric/lab_addresses.h"
#include "fabric/lab_extender.h"
#include "fabric/lab_lan.h"
#include "fabric/lab_negotiation.h"
#include "fabric/lab_parts.h"
#include "fabric/lab_service.h"
#include "fabric/link_values.h"
#include "link/emulation.h"

namespace weft::fabric {

// A router joins subnets. In a lab it is an end of the fabric as an adapter is, which programs
// cannot use: it answers for itself, and as an extender has ways to other subnets.
enum class NodeKind : std::uint8_t { kSwitch, kChannelAdapter, kRouter };
// As lab files call it: "switch", "node", "router".
[[nodiscard]] std::string_view to_string(NodeKind kind);

// What the ports of a node can do. A link does what both its ends, and its cable, can.
struct PortLimits {
  std::uint8_t data_vls = 8;  // 1, 2, 4, 8 or 15
  std::uint16_t mtu = 4096;   // bytes: 256, 512, 1024, 2048 or 4096
  LinkWidth width = LinkWidth::k4x;
  LinkSpeed speed = LinkSpeed::kQdr;
  friend bool operator==(const PortLimits&, const PortLimits&) = default;
};

struct LabNode {
  std::string name;  // unique in the lab; letters, digits and ._-
  NodeKind kind = NodeKind::kChannelAdapter;
  std::string description;  // NodeDescription: at most 64 characters, all printable()
  std::uint8_t ports = 1;   // a switch's port 0 is not counted
  PortLimits limits;
  Guid guid{};
  Guid system_guid{};
  // Of a switch one, which is port 0's; of others one for each port.
  std::vector<Guid> port_guids;
  std::vector<Ipv4> addresses;  // of a channel adapter one for each port
  std::uint32_t vendor_id = 0;  // 24 bits
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
  // Of switches: LinearFDBCap and MulticastFDBCap, and whether port 0 is an enhanced one.
  std::uint16_t linear_entries = 49152;
  std::uint16_t multicast_entries = 1024;
  bool enhanced_port0 = false;
  std::uint16_t part = 0;     // index in Lab::parts; 0 where there are none
  std::optional<LabLan> lan;  // of a channel adapter: its ports are on the LAN
  friend bool operator==(const LabNode&, const LabNode&) = default;
};

struct LabEnd {
  std::uint32_t node = 0;  // index in Lab::nodes
  std::uint8_t port = 0;   // from 1
  friend bool operator==(const LabEnd&, const LabEnd&) = default;
};

struct LabLink {
  std::string name;  // may be empty: either end names it then, as in "leaf1:3"
  std::array<LabEnd, 2> ends;
  // What the cable can do, when that is less than its ends can.
  std::optional<LinkWidth> width;
  std::optional<LinkSpeed> speed;
  std::optional<LabNegotiation>
      negotiation{};  // its ports negotiate the speed; `speed` says nothing
  bool up = true;     // plugged in from the start
  link::Emulation emulation;
  friend bool operator==(const LabLink&, const LabLink&) = default;
};

// That of a subnet that is joined to no other one (IBA 4.1.1): link-local.
inline constexpr std::uint64_t kDefaultSubnetPrefix = 0xFE80'0000'0000'0000;

// Who manages the subnet, and how.
struct LabManagement {
  enum class Manager : std::uint8_t {
    kWeft,    // the lab's own, in its daemon
    kOpenSm,  // OpenSM, which is started on a node with the lab
    kNone,    // whoever comes
  };
  Manager manager = Manager::kWeft;
  // Where the manager is; empty: Weft's on the first switch, or where there is none on the first
  // node, and OpenSM on the first node.
  std::string node;
  std::string engine = "minhop";  // of kEngines
  std::uint8_t lmc = 0;           // adapters have 2^lmc LIDs; 0 to 7
  std::uint8_t priority = 0;      // among managers, 0 to 15
  // Of all GIDs of the subnet, the first 64 bits (IBA 4.1.1).
  std::uint64_t subnet_prefix = kDefaultSubnetPrefix;
  // A file of partitions in OpenSM's format; empty: everybody is in the default partition. As the
  // lab file has it, which is: from its own place on.
  std::string partitions;
  // Of Weft's: a file with OpenSM's options of quality of service, likewise; empty: there is none.
  std::string qos;
  // Of Weft's: a file like OpenSM's prefix-routes.conf, likewise; empty: any router leads to all
  // other subnets.
  std::string prefix_routes;
  // The file by which Weft's remembers what was before, as the lab file has it; empty: the usual
  // one. kNoDatabase: none.
  std::string database;
  // Of Weft's: the file in which it keeps the M_Keys of all ports, likewise; empty: ports have
  // none. With it, how much of them others may see: 0 to 3, IBA 14.2.4.1; nothing: the usual.
  std::string mkeys;
  std::optional<std::uint8_t> mkey_protect;
  friend bool operator==(const LabManagement&, const LabManagement&) = default;
};
inline constexpr std::string_view kNoDatabase = "none";
// Others may read, but do not see the key.
inline constexpr std::uint8_t kUsualMKeyProtect = 1;
inline constexpr std::array<std::string_view, 5> kEngines{"minhop", "updn", "ftree", "dor",
                                                          "layered"};
[[nodiscard]] std::string_view to_string(LabManagement::Manager manager);  // "weft"
[[nodiscard]] std::optional<LabManagement::Manager> parse_manager(std::string_view text);

struct Lab {
  std::string name;
  LabManagement management;
  // Of a lab that is several subnets, the others: Weft's, each at a node of its own, which says
  // which subnet it is (lab_subnets.h).
  std::vector<LabManagement> more_subnets;
  Ipv4Network network;         // that its addresses are of
  std::vector<LabPart> parts;  // none: one process runs all of it
  std::vector<LabNode> nodes;  // switches first, routers last
  std::vector<LabLink> links;
  std::vector<LabExtender> extenders;
  std::vector<LabHost> hosts;  // elsewhere, each address once and no port's of this lab
  LabServices data;            // what they name is there
  friend bool operator==(const Lab&, const Lab&) = default;

  [[nodiscard]] const LabNode* find_node(std::string_view name) const;
  // By its name, or by one of its ends.
  [[nodiscard]] const LabLink* find_link(std::string_view name) const;
  [[nodiscard]] std::string end_name(const LabEnd& end) const;  // "leaf1:3"
  // Its name; of one without, that of its first end.
  [[nodiscard]] std::string link_name(const LabLink& link) const;
  [[nodiscard]] std::optional<std::uint16_t> find_part(std::string_view name) const;
  // Null: the node is none.
  [[nodiscard]] const LabExtender* find_extender(std::uint32_t node) const;
  // Other labs are in the same subnet: an extender is a bridge to them.
  [[nodiscard]] bool is_bridged() const;
  // As many as both ends and the cable have.
  [[nodiscard]] LinkWidth width_of(const LabLink& link) const;
  // Between two parts.
  [[nodiscard]] bool is_cut(const LabLink& link) const {
    return nodes[link.ends[0].node].part != nodes[link.ends[1].node].part;
  }
  // Of a subnet, 0 being the first and 1 the first of more_subnets.
  [[nodiscard]] const LabManagement& management_of(std::size_t subnet) const {
    return subnet == 0 ? management : more_subnets[subnet - 1];
  }
  // Where LabManagement has the manager; null: there is no manager, or no node that could have it.
  [[nodiscard]] const LabNode* managing_node(std::size_t subnet = 0) const;
};

// The most ports that a node can have (NodeInfo.NumPorts), and the most LIDs of a subnet: each
// switch and each port of another node takes one at least (IBA 4.1.3).
inline constexpr unsigned kMaxPorts = 254;
inline constexpr std::size_t kMaxLids = 0xBFFF;
inline constexpr std::size_t kMaxDescription = 64;

// What a description may hold: ASCII but control characters and the quotation mark, between which
// listings put it.
[[nodiscard]] constexpr bool printable(char c) {
  return c >= ' ' && c <= '~' && c != '"';
}

// The GUID that a node has when its lab gives none: locally administered, and by its names alone,
// so that it stays the same when other nodes come and go. Its ports' follow it.
[[nodiscard]] Guid derived_guid(std::string_view lab, std::string_view node);

// "0x0002c90300001dd0"
[[nodiscard]] std::string to_string(Guid guid);

}  // namespace weft::fabric
