// SPDX-License-Identifier: Apache-2.0
// The ends of a line for tests: packets that are to go, and what came.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "base/random.h"
#include "wan/line/octet_stream.h"
#include "wan/line/pcs/ethernet_receiver.h"
#include "wan/line/pcs/frame_transmitter.h"
#include "wan/line/pcs/pcs_receiver.h"
#include "wan/line/pcs/pcs_transmitter.h"
#include "wan/line/pcs/xgmii_receiver.h"

namespace weft::wan {

using Octets = std::vector<std::byte>;

struct Queue : PacketSource {
  Bytes next() override {
    if (packets.empty()) return {};
    sent = packets.front();
    packets.pop_front();
    return sent;
  }
  std::deque<Octets> packets;
  Octets sent;
};

struct Arrived : PacketSink {
  void packet(Bytes bytes) override { packets.emplace_back(bytes.begin(), bytes.end()); }
  std::vector<Octets> packets;
};

// All that was between /S/ and /T/.
struct LaneFrames : FrameSink {
  void frame(Bytes octets) override { frames.emplace_back(octets.begin(), octets.end()); }
  void bad_frame() override { ++bad; }
  void ordered_set(const OrderedSet& set) override { sets.push_back(set); }
  std::vector<Octets> frames;
  std::vector<OrderedSet> sets;
  int bad = 0;
};

// One end that sends; its line is `octets()`.
struct SendingEnd {
  explicit SendingEnd(LineFrames kind = LineFrames::kEthernet,
                      BitOrder order = BitOrder::kLeastFirst)
      : frames(kind, queue), line(order, frames) {}
  Octets octets(std::size_t size) {
    Octets out(size);
    line.fill(out);
    return out;
  }
  Queue queue;
  FrameTransmitter frames;
  PcsTransmitter line;
};

// One that receives Ethernet.
struct ReceivingEnd {
  explicit ReceivingEnd(const PcsReceiver::Options& options = {})
      : line(options, lanes, counters) {}
  [[nodiscard]] std::uint64_t count(PcsCounter counter) const { return counters.get(counter); }
  [[nodiscard]] std::uint64_t count(EthernetCounter counter) const {
    return mac.counters().get(counter);
  }
  Arrived arrived;
  EthernetReceiver mac{arrived};
  PcsCounters counters;
  XgmiiReceiver lanes{EthernetReceiver::kLongest + 16, mac, counters};
  PcsReceiver line;
};

inline Octets random_octets(Random& random, std::size_t size) {
  Octets out(size);
  for (std::byte& octet : out)
    octet = static_cast<std::byte>(random.next());
  return out;
}

inline void flip_bit(Octets& octets, std::size_t at) {
  octets[at / 8] ^= static_cast<std::byte>(1U << at % 8);
}

// What is left with some bits of it taken out, least significant first.
inline Octets without_bits(const Octets& octets, std::size_t at, std::size_t count) {
  Octets out;
  std::size_t to = 0;
  for (std::size_t bit = 0; bit < 8 * octets.size(); ++bit) {
    if (bit >= at && bit < at + count) continue;
    if (to % 8 == 0) out.push_back(std::byte{0});
    if ((std::to_integer<unsigned>(octets[bit / 8]) >> bit % 8 & 1) != 0) flip_bit(out, to);
    ++to;
  }
  if (to % 8 != 0) out.pop_back();
  return out;
}

}  // namespace weft::wan
