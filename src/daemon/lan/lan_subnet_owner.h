// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "lan/directory.h"
#include "mgmt/cm_parameters.h"

namespace weft::daemon {

// A connection to a peer, from LanSubnet::connect() or LanSubnetOwner::asked() on, until it has
// ended or is disconnected. Such a number is not given to another soon.
using LanChannel = mgmt::CmId;

enum class LanChannelEnd : std::uint8_t {
  kRefused,       // by the peer: it was not established
  kUnanswered,    // nobody has said anything: perhaps it is the path
  kDisconnected,  // by the peer, or it does not know it any more
  kUnusable,      // modify() was false
};

// The multicast group of LAN ports, as the subnet administrator has it.
struct LanGroup {
  Gid mgid{};
  Lid mlid{};
  QKey qkey{};
  Sl sl{};
  std::uint16_t mtu = 256;  // bytes of payload that its packets may have: 256 to 4096
  friend bool operator==(const LanGroup&, const LanGroup&) = default;
};

// Who has a LanSubnet. None of these is called from inside of a call of LanSubnet: they come from
// inside of the fabric's run() and of the reactor's. From inside of them LanSubnet may be called,
// but not destroyed.
class LanSubnetOwner {
 public:
  virtual ~LanSubnetOwner() = default;

  // Of ask(), once for each that was true. Spans last until it returns.
  virtual void answered(std::uint64_t number, const lan::Answer& answer) = 0;
  // Notices 64 and 65 of the subnet administrator, about ports of this subnet, ours too.
  virtual void in_service(Guid port) = 0;
  virtual void out_of_service(Guid port) = 0;

  // Of join_group(): the port is in the group, or the group is another one than before; and it is
  // not any more, until it is again. The switches may know of it a little later.
  virtual void group_joined(const LanGroup& group) { static_cast<void>(group); }
  virtual void group_left() {}

  // Paths may be others than before: the administrator has said so by notice 69.
  virtual void paths_changed() {}

  // Somebody asks for a connection, whoever that is (lan::Peers::find()). The number
  // of a UC queue pair in RESET for it, which is of this channel from now on; nothing: it is
  // refused, and nothing more is said of this channel. If we ask the same peer at the same time and
  // this one is to be made, disconnect() the other one here.
  virtual std::optional<Qpn> asked(LanChannel channel, const lan::Sender& sender) = 0;
  // The channel's queue pair is to take this step: to INIT, RTR and RTS, one after the other.
  // False: it cannot; ended(kUnusable) comes next, and the peer is told.
  virtual bool modify(LanChannel channel, const mgmt::QpTransition& step) = 0;
  // Its queue pair is in RTS, and the peer's at least in RTR. Messages may come a little earlier.
  virtual void connected(LanChannel channel) = 0;
  // Before connected(): it is not made; after that: it is not any more. The queue pair is to go.
  virtual void ended(LanChannel channel, LanChannelEnd why) = 0;
};

}  // namespace weft::daemon
