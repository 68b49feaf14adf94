// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/ids.h"
#include "base/mac_address.h"
#include "daemon/lan/host_interface.h"
#include "daemon/lan/lan_notes.h"
#include "lan/channels.h"
#include "lan/group_list.h"
#include "lan/peers.h"
#include "mgmt/managed_node.h"

namespace weft::daemon {

enum class LanState : std::uint8_t {
  kWaiting,  // for the port to have its LIDs and to be active: there is no interface yet
  kUp,       // with carrier
  kDown,     // the port is not active now: without carrier
  kFailed,   // the interface could not be made, or somebody has deleted it
};
[[nodiscard]] std::string_view to_string(LanState state);

// Another LAN port, as one knows it.
struct LanPeerReport {
  Guid port{};
  std::string node;  // as it calls itself, NodeDescription; empty: not known
  lan::PortLids lids{};
  MacAddress mac{};
  lan::PeerPath path{};      // the one in use
  std::size_t paths = 0;     // that are known, 1 or 2
  Qpn qpn{};                 // of its queue pair of datagrams
  bool bridges = false;      // other stations are behind it,
  std::size_t stations = 0;  // so many as far as is known
  lan::Channels::State channel = lan::Channels::State::kNone;
  std::optional<lan::GroupList> groups{};  // what it wants of groups; nothing: it has not said so
};

// A LAN port, as people ask about it.
struct LanReport {
  std::string node;
  mgmt::PortNumber port = 1;
  std::string interface;          // as the kernel calls it; empty: there is none
  std::string network_namespace;  // its file; empty: the daemon's own
  LanState state = LanState::kWaiting;
  std::string why;       // a sentence, unless it is up
  lan::PortLids lids{};  // of the port; 0: it has none yet
  MacAddress mac{};      // of the interface; zeros: there is none
  std::uint32_t mtu = 0;
  bool bridges = false;                       // it is told that other stations are behind it
  Qpn qpn{};                                  // of its queue pair of datagrams
  std::vector<HostInterface::Frames> queues;  // of the interface, in order
  std::vector<LanPeerReport> peers;           // in order of their LIDs
  // Of frames, of packets of the fabric, of its queue pairs of datagrams, of those of channels, and
  // of what it says and hears by management datagrams: some names are the same.
  std::vector<CounterValue> frames;
  std::vector<CounterValue> packets;
  std::vector<CounterValue> datagrams;
  std::vector<CounterValue> channels;
  std::vector<CounterValue> subnet;
  std::uint64_t drops = 0;            // frames, messages and packets (lan_drops.h)
  std::vector<LanNotes::Note> notes;  // the oldest first
};

}  // namespace weft::daemon
