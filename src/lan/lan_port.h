// SPDX-License-Identifier: Apache-2.0
// A LAN port: between a host's Ethernet interface and a port of the fabric. Frames of the host go
// to the peers that they are for, those of peers to the host; on the way both are checked, and what
// is not right is counted.
//
//   host -> from_host() -+-> one peer: LanUser::send_message(), or send_datagrams()
//                        +-> several: send_datagrams(), of one buffer
//   host <- LanUser::to_host() <-+- checks <- from_channel()
//                                +- checks <- Reassembly <- from_datagram()
//
// A core: nothing is copied but parts of frames that come in several datagrams, and nothing
// is allocated for a frame. It is told of the time, and run when its deadline has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "lan/bonds.h"
#include "lan/channels.h"
#include "lan/directory.h"
#include "lan/ethernet_frame.h"
#include "lan/group_list.h"
#include "lan/group_message.h"
#include "lan/host_groups.h"
#include "lan/lan_counters.h"
#include "lan/lan_header.h"
#include "lan/path_watch.h"
#include "lan/reassembly.h"
#include "lan/stations.h"
#include "lan/storm_limit.h"

namespace weft::lan {

// What a LAN port stands on. Bytes that it is given are valid until it returns. It calls the port
// back only from outside of these calls.
class LanUser {
 public:
  virtual ~LanUser() = default;

  // To the host's interface.
  virtual void to_host(const Offload& offload, Bytes frame) = 0;
  // One message, of `head` and `frame`, on the channel to `peer`. False: there is no room.
  virtual bool send_message(PeerId peer, Bytes head, Bytes frame) = 0;
  // To each of these, in datagrams as Segments(header, frame, peer.path().mtu) has them. Returns to
  // how many it cannot be sent for want of room.
  virtual std::size_t send_datagrams(std::span<const PeerId> peers, const LanHeader& header,
                                     Bytes frame) = 0;
  // To all that have joined the fabric's group of LAN ports, in datagrams as Segments(header,
  // frame, MTU of the group) has them. False: there is no room.
  virtual bool send_to_group(const LanHeader& header, Bytes frame) = 0;
  // A connection to the peer is wanted: LanPort::channel_up() or channel_refused() come of it.
  virtual void connect(PeerId peer) = 0;
  // The one that is up, or is being made, is to go; nothing more is said of it.
  virtual void disconnect(PeerId peer) = 0;

  // Those of DirectoryUser, which see.
  virtual bool ask(std::uint64_t number, const Question& question, Time now) = 0;
  virtual void peer_came(PeerId peer) = 0;
  virtual void peer_moved(PeerId peer) = 0;
  virtual void peer_went(PeerId peer) = 0;
};

struct LanOptions {
  PortLids lids{};         // valid ones, of the port of the fabric
  std::size_t mtu = 1500;  // of the host's interface, up to kMostMtu
  // The host's interface is a port of a bridge: stations are behind it whose addresses tell no LID.
  bool bridge = false;
  // Of frames that go to all: of the host's, and of each peer's. Those to groups of bridges and of
  // neighbours are not among them: they have a limit of their own.
  double storm_per_s = 10'000;
  std::uint32_t first_number = 0;  // of frames in datagrams; better another one each time
  Directory::Options directory{};
  Reassembly::Options reassembly{};
  Channels::Options channels{};
  HostGroups::Options groups{};
  Stations::Options stations{};
};

class LanPort final : private DirectoryUser {
 public:
  // `user` outlives it.
  LanPort(const LanOptions& options, LanUser& user, Time now);
  LanPort(const LanPort&) = delete;
  LanPort& operator=(const LanPort&) = delete;
  ~LanPort() override = default;

  // Of the host's interface, unless the host gives it another one.
  [[nodiscard]] MacAddress mac() const { return mac_; }
  // The one that the host has given it and peers are told, which holds no LID; nothing: there is
  // none. Another port of the same one is of the same bond.
  [[nodiscard]] const std::optional<MacAddress>& own_address() const { return own_address_; }
  // What the interface has now. Nothing, or an address that tells a LID: peers are told of none.
  void address_changed(const std::optional<MacAddress>& address, Time now);
  // The port of the fabric has other LIDs, valid ones: so the host's interface has another address.
  void port_changed(const PortLids& lids, Time now);
  void set_mtu(std::size_t mtu) { mtu_ = mtu; }
  // As LanOptions::bridge; peers are told at once.
  void set_bridge(bool bridge, Time now);

  // Datagrams can be sent to the fabric's group of LAN ports, and those that are sent to it come
  // here: soon, when the subnet manager has told the switches.
  void group_joined(Time now);
  void group_left(Time now);  // not any more

  void from_host(const Offload& offload, Bytes frame, Time now);
  // What came to our datagram queue pair, without GRH, and who sent it, as the fabric says.
  void from_datagram(const Sender& sender, Qpn queue_pair, Bytes message, Time now);
  void from_channel(PeerId peer, Bytes message, Time now);

  // A peer asks for a channel: whether it gets one.
  [[nodiscard]] bool accept_channel(PeerId peer, Time now);
  // The one that was asked for, by either end, can be used. False: disconnect it.
  [[nodiscard]] bool channel_up(PeerId peer, Time now) { return channels_.up(peer, now); }
  // The one that connect() asked for is not made.
  void channel_refused(PeerId peer, Time now) { channels_.refused(peer, now); }
  // The one that was up is not any more, by itself or by the peer's will.
  void channel_down(PeerId peer, Time now) { channels_.down(peer, now); }

  void run(Time now);
  [[nodiscard]] Time deadline() const;

  // For answers and notices of the subnet administrator.
  [[nodiscard]] Directory& directory() { return directory_; }
  [[nodiscard]] const Peers& peers() const { return directory_.peers(); }
  [[nodiscard]] const Channels& channels() const { return channels_; }
  [[nodiscard]] const HostGroups& host_groups() const { return host_groups_; }
  [[nodiscard]] const Stations& stations() const { return stations_; }
  [[nodiscard]] const Bonds& bonds() const { return bonds_; }
  [[nodiscard]] const LanCounters& counters() const { return counters_; }
  // What a peer has said that it wants, or that it wants all.
  [[nodiscard]] bool peer_wants(PeerId peer, const MacAddress& group) const;
  // What it has said of groups; nothing: it has not lately.
  [[nodiscard]] const std::optional<GroupList>& peer_groups(PeerId peer) const {
    return peer_states_[peer].groups;
  }
  // It has said that what goes to the fabric's group of LAN ports reaches it.
  [[nodiscard]] bool peer_joined(PeerId peer) const;
  // It has said that there are stations behind it.
  [[nodiscard]] bool peer_bridges(PeerId peer) const;

 private:
  // What goes to all is limited; what bridges and their neighbours say to each other, apart.
  struct Limits {
    StormLimit all;
    StormLimit link_local;
  };
  struct PeerState {
    std::optional<GroupList> groups;  // nothing: it has not said so, or not lately
    Time groups_until{};
    Limits limits;
  };

  // DirectoryUser
  bool ask(std::uint64_t number, const Question& question, Time now) override;
  void came(PeerId peer, Time now) override;
  void moved(PeerId peer, Time now) override;
  void went(PeerId peer, Time now) override;

  // lan_port_host.cc: what comes from the host.
  [[nodiscard]] bool may_send(const Offload& offload, Bytes frame, const EthernetFrame& read);
  [[nodiscard]] bool may_send_from(const MacAddress& source) const;
  void to_port(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now);
  bool to_peer(PeerId peer, const Offload& offload, Bytes frame, const EthernetFrame& read,
               Time now);
  void to_all(const Offload& offload, Bytes frame, Time now);
  void to_group(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now);
  void want_channel(PeerId peer, Time now);
  void send_to(std::span<const PeerId> peers, const Offload& offload, Bytes frame);
  [[nodiscard]] bool group_reaches_only(std::span<const PeerId> to);
  std::size_t send_datagrams(std::span<const PeerId> peers, const LanHeader& header, Bytes frame);

  // lan_port_bridge.cc: addresses that tell no LID.
  void to_foreign(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now);
  void to_station(const Offload& offload, Bytes frame, const EthernetFrame& read, Time now);
  void learn_from_host(const EthernetFrame& read);
  [[nodiscard]] bool is_from_station(PeerId peer, const EthernetFrame& read, Time now);
  void look_for_topology_change(const EthernetFrame& read, Time now);

  // lan_port_fabric.cc: what comes from the fabric.
  [[nodiscard]] std::optional<LanMessage> read(Bytes message);
  bool receive(PeerId peer, const LanMessage& message, Time now);
  [[nodiscard]] bool is_from(PeerId peer, const EthernetFrame& read, Time now);
  [[nodiscard]] bool is_for_host(PeerId peer, const EthernetFrame& read, Time now);
  [[nodiscard]] bool fits_mtu(const Offload& offload, Bytes frame, unsigned tags) const;
  void take_groups(PeerId peer, Bytes list, Time now);
  void forget_groups(PeerId peer, Time now);
  void forget_silent(Time now);
  void set_groups(PeerId peer, std::optional<GroupList> groups);

  [[nodiscard]] bool may_go_to_all(Limits& limits, const MacAddress& to, Time now) const;
  void say_groups(std::span<const PeerId> to, bool asks = false);
  void groups_changed(Time now);
  void ask_those_behind(Time now);
  void query_host(Time now);
  void count(LanCounter counter, std::size_t n = 1) { counters_.add_in_turn(counter, n); }

  const LanOptions options_;
  LanUser& user_;
  LanCounters counters_;
  PortLids lids_;
  MacAddress mac_;
  std::size_t mtu_;
  bool bridge_;
  Directory directory_;
  Reassembly reassembly_;
  Channels channels_;
  HostGroups host_groups_;
  Stations stations_;
  Bonds bonds_;
  std::optional<MacAddress> own_address_;
  PathWatch watch_;
  std::optional<Time> forgot_stations_;  // because the topology had changed
  std::vector<PeerState> peer_states_;
  Limits limits_;
  std::uint32_t next_number_;
  enum class Group : std::uint8_t { kNone, kJoined, kReached };
  Group group_ = Group::kNone;
  Time group_reached_at_{};
  Time say_groups_at_;
  unsigned say_again_ = 0;  // soon, because what is wanted has changed, and datagrams can be lost
  std::vector<PeerId> targets_;         // of the frame that is being sent
  std::vector<PeerId> apart_;           // of these, those that the fabric's group does not reach
  std::vector<std::byte> groups_text_;  // what is being said of groups
};

}  // namespace weft::lan
