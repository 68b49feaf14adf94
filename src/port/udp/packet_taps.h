// SPDX-License-Identifier: Apache-2.0
// Several programs share queue pair 1, and each may want its own packets there recorded or spoilt.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "hca/datagram.h"

namespace weft::port {

class Capture;
class InletFaults;

// What one program wants done with its packets.
class PacketTap {
 public:
  virtual ~PacketTap() = default;
  // Where those are recorded whose address on this host is `local`; null: nowhere.
  virtual Capture* capture(const Gid& local) = 0;
  // What spoils those that arrive; null: nothing does.
  virtual InletFaults* faults() = 0;
};

// Tells whose packets are whose. Called by the threads that send and receive.
class PacketTaps {
 public:
  virtual ~PacketTaps() = default;
  // `frame`: from the BTH to the ICRC, which nobody has verified yet. Null: of nobody who wants
  // anything done with it.
  virtual PacketTap* of_arriving(Bytes frame, const Gid& source, const Gid& destination) = 0;
  virtual PacketTap* of_leaving(const hca::Burst& burst) = 0;
  [[nodiscard]] virtual std::vector<PacketTap*> all() = 0;
};

}  // namespace weft::port
