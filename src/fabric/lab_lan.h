// SPDX-License-Identifier: Apache-2.0
// What a lab says of Ethernet over the fabric (docs/lan.md): the interfaces that its nodes have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::fabric {

struct Lab;

// Of all ports of a node. In names "{node}" and "{port}" stand for those of each.
struct LabLan {
  std::string name;   // of the interface; empty: one that fits the node, see LanPlace
  std::string netns;  // of the network namespace, or its file from / on; empty: the daemon's own
  std::uint32_t mtu = 1500;  // bytes behind the Ethernet header
  std::uint8_t queues = 1;
  bool offloads = true;          // checksums and segmentation are left undone for the peer's kernel
  std::uint16_t channels = 256;  // connections to peers, at most; 0: datagrams alone
  // Whether there are other stations behind the interface; nothing ("auto"): while it is a port of
  // a bridge of its host.
  std::optional<bool> bridge{};
  friend bool operator==(const LabLan&, const LabLan&) = default;
};
inline constexpr std::uint32_t kLeastLanMtu = 68;
inline constexpr std::uint32_t kMostLanMtu = 65'521;
inline constexpr std::uint8_t kMostLanQueues = 16;
inline constexpr std::uint16_t kMostLanChannels = 1024;
// Of an interface's name (IFNAMSIZ), and of what may stand for it or for a namespace.
inline constexpr std::size_t kMostInterfaceName = 15;
inline constexpr std::size_t kMostLanPattern = 255;

// Where the interface of a port is.
struct LanPlace {
  std::string name;   // of the interface
  std::string netns;  // as LabLan::netns
};
// `name` is the one asked for, whether an interface can have it or not. Where none is asked for: in
// a namespace of the node's own "lan1" for port 1, else "lan-NODE", behind which further ports have
// "-2" and so on; where that is too long, it ends in a hash of the whole.
[[nodiscard]] LanPlace lan_place(const LabLan& lan, std::string_view node, unsigned port);

// Nothing stands in braces but what is known, and the rest may stand in a name.
[[nodiscard]] bool good_interface_pattern(std::string_view text);
// Such a name, or a path from / on.
[[nodiscard]] bool good_netns_pattern(std::string_view text);
inline constexpr std::string_view kInterfacePatternWanted =
    "must be the name of an interface, of letters, digits and ._-, as in \"lan-{node}\": {node} "
    "and {port} stand for those of each port";
inline constexpr std::string_view kNetnsPatternWanted =
    "must be a network namespace, as in \"{node}\": a name as ip netns has it, or a file's path "
    "from / on; {node} and {port} stand for those of each port";

// What the kernel takes for the name of one.
[[nodiscard]] bool good_interface_name(std::string_view name);

// An interface that no kernel would make, or two of one name in one place; nothing: there is none.
struct LanConflict {
  std::uint32_t node = 0;  // index in Lab::nodes
  std::string message;
};
[[nodiscard]] std::optional<LanConflict> find_lan_conflict(const Lab& lab);

}  // namespace weft::fabric
