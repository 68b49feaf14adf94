// SPDX-License-Identifier: Apache-2.0
// How the wires of transport networks are put one into the other. Towards the line, whoever is
// further out asks whoever is further in: a framer asks a mapping for octets, and a mapping asks
// for a packet whenever one may begin. So nothing waits in between, and what is sent when is
// decided as late as possible. From the line, octets are handed on as they come, in pieces of any
// size.
#pragma once

#include "base/bytes.h"

namespace weft::wan {

// Octets of a line, or of a part of one, which never end.
class OctetSource {
 public:
  virtual ~OctetSource() = default;
  // The next ones, as many as there is room for; what the line has for idle where nothing waits.
  virtual void fill(MutableBytes octets) = 0;
};

// Where octets of a line go in order. Cut anywhere: the same octets in other pieces mean the same.
class OctetSink {
 public:
  virtual ~OctetSink() = default;
  virtual void take(Bytes octets) = 0;
  // The line is not understood any more: what comes next does not follow what came before.
  virtual void interrupted() {}
};

// Packets that are to go.
class PacketSource {
 public:
  virtual ~PacketSource() = default;
  // The next one, which then counts as sent; empty: none waits. It stays until the next call.
  [[nodiscard]] virtual Bytes next() = 0;
};

// Where packets go that came.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  // Whole and, as far as its checks can tell, as it was sent. Gone when this returns.
  virtual void packet(Bytes bytes) = 0;
};

}  // namespace weft::wan
