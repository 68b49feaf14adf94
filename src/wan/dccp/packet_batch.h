// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "wan/path.h"

namespace weft::wan::dccp {

// Packets of DCCP that go to the path below by one call, which may be one system call there. Their
// headers are kept here; the frames in them are not copied, and stay until they are sent.
class PacketBatch {
 public:
  static constexpr std::size_t kMost = 64;

  [[nodiscard]] bool empty() const { return packets_.empty(); }
  [[nodiscard]] bool full() const { return packets_.size() == kMost; }
  // A packet with a frame in it, or null, as PacketSink::transmit(). While it is not full.
  void add(Bytes header, const OutFrame* data);
  // All of them, in order, as packets that the network may mark (ECN).
  void send(Path& below, Time now);
  void clear();

 private:
  struct Packet {
    std::size_t header = 0;  // bytes
    OutFrame data;
  };

  std::vector<std::byte> headers_;  // one behind the other
  std::vector<Packet> packets_;
  // Of send(), kept for the next time.
  std::vector<Bytes> parts_;
  std::vector<OutFrame> frames_;
};

}  // namespace weft::wan::dccp
