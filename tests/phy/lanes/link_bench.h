// SPDX-License-Identifier: Apache-2.0
// A sender, what may happen on the way, and a receiver: for tests of whole links.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "phy/lanes/link_receiver.h"
#include "phy/lanes/link_transmitter.h"
#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::phy {

struct TestPacket {
  PacketKind kind = PacketKind::kData;
  PacketFault fault = PacketFault::kNone;
  std::vector<std::byte> bytes;

  friend bool operator==(const TestPacket&, const TestPacket&) = default;

  // Data packets of tests end with a VCRC over all before it, link packets with the same for want
  // of another.
  [[nodiscard]] bool has_right_crc() const {
    if (bytes.size() < 2) return false;
    const Bytes covered = Bytes(bytes).first(bytes.size() - 2);
    return wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset, covered)) ==
           wire::load_le16(bytes.data() + covered.size());
  }
};

inline TestPacket make_packet(Random& random, std::size_t most_words) {
  TestPacket packet;
  packet.kind = random.below(3) == 0 ? PacketKind::kLink : PacketKind::kData;
  packet.bytes.resize(packet.kind == PacketKind::kLink ? 6 : 4 * random.between(2, most_words) + 2);
  for (std::byte& byte : packet.bytes)
    byte = static_cast<std::byte>(random.next());
  const Bytes covered = Bytes(packet.bytes).first(packet.bytes.size() - 2);
  wire::store_le16(packet.bytes.data() + covered.size(),
                   wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset, covered)));
  return packet;
}

class Collector final : public PacketSink {
 public:
  void receive(const ReceivedPacket& packet) override {
    packets.push_back({packet.kind, packet.fault, {packet.bytes.begin(), packet.bytes.end()}});
  }
  [[nodiscard]] std::vector<TestPacket> good() const {
    std::vector<TestPacket> all;
    std::copy_if(packets.begin(), packets.end(), std::back_inserter(all),
                 [](const TestPacket& packet) { return packet.fault == PacketFault::kNone; });
    return all;
  }
  std::vector<TestPacket> packets;
};

// What happens to bits of a link.
struct Medium {
  std::array<unsigned, kMaxLanes> delay{};  // in bits, of each lane
  std::uint32_t crossed = 0;                // lanes whose wires are
  bool reversed = false;
  double bit_errors = 0;  // as a probability
  double slips = 0;       // a bit that comes twice or not at all
};

inline Medium random_medium(Random& random, unsigned most_delay) {
  Medium medium;
  for (unsigned& delay : medium.delay)
    delay = static_cast<unsigned>(random.below(most_delay + 1));
  medium.crossed = static_cast<std::uint32_t>(random.below(1U << kMaxLanes));
  medium.reversed = random.below(2) != 0;
  return medium;
}

// A lane's end of the medium: what comes out at `place`. What was before the first bit is noise.
inline BitVector carry(const LinkTransmitter& sender, std::size_t lanes, std::size_t place,
                       const Medium& medium, Random& random) {
  const BitSpan bits = sender.bits(medium.reversed ? lanes - 1 - place : place);
  const bool crossed = (medium.crossed >> place & 1) != 0;
  BitVector out;
  for (unsigned i = 0; i < medium.delay[place]; ++i)
    out.put(i / 2 % 2, 1);
  for (std::size_t i = 0; i < bits.count; ++i) {
    const bool wrong = medium.bit_errors > 0 && random.chance(medium.bit_errors);
    const bool bit = bits.bit(i) != (crossed != wrong);
    const bool slipped = medium.slips > 0 && random.chance(medium.slips);
    const unsigned copies = !slipped ? 1 : random.below(2) == 0 ? 2 : 0;
    for (unsigned copy = 0; copy < copies; ++copy)
      out.put(bit ? 1 : 0, 1);
  }
  return out;
}

inline void train(LinkTransmitter& sender) {
  sender.send_training(OrderedSet::kTs1, 6);
  sender.send_training(OrderedSet::kTs2, 8);
  sender.send_idle(20);
}

// Packets with idle data between them, or none. Ends with some.
inline std::vector<TestPacket> send_packets(LinkTransmitter& sender, Random& random,
                                            std::size_t count, std::size_t most_words) {
  std::vector<TestPacket> packets;
  for (std::size_t i = 0; i < count; ++i) {
    packets.push_back(make_packet(random, most_words));
    const bool bad = packets.back().kind == PacketKind::kData && random.below(8) == 0;
    if (bad) packets.back().fault = PacketFault::kMarkedBad;
    sender.send_packet(packets.back().kind, packets.back().bytes,
                       bad ? PacketEnd::kBad : PacketEnd::kGood);
    if (random.below(2) == 0) sender.send_idle(random.below(30));
  }
  sender.send_idle(40);
  return packets;
}

}  // namespace weft::phy
