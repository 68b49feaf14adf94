// SPDX-License-Identifier: Apache-2.0
// What an adapter looks at in a packet that a program hands it.
#pragma once

#include <optional>

#include "fabric/node_port.h"
#include "link/packet.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/lrh.h"

namespace weft::fabric {

struct SentPacket {
  // Of LRH and BTH.
  Sl sl{};
  Lid dlid{};
  Lid slid{};
  PKey pkey{};
  std::optional<wire::Grh> grh;
  std::size_t size = 0;  // LRH through VCRC

  // Reads the headers. False for what no program may send, whatever its port is like: raw packets,
  // VL15, to queue pairs 0 and 1, with a privileged Q_Key (IBA 10.2.5), with a DETH that does not
  // say `source`, or malformed: lengths, versions, opcode, and the VCRC of a packet that is sealed
  // and has no payload of its own. The ICRC is between the ends.
  [[nodiscard]] bool read(const link::Packet& packet, Qpn source);

  // The same for a data service, which sends packets of others: anything but subnet management,
  // malformed as above.
  [[nodiscard]] bool read_raw(const link::Packet& packet);

  // Source LID, source GID and P_Key are the port's, and its neighbour takes so long a packet.
  [[nodiscard]] bool agrees_with(const NodePort& port) const;
};

}  // namespace weft::fabric
