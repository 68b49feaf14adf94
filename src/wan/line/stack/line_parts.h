// SPDX-License-Identifier: Apache-2.0
// Lines out of their parts, each with the session that belongs to it: what LineStack makes lines
// of, and what else puts octets into frames.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/entropy.h"
#include "wan/encapsulation/out_packet.h"
#include "wan/line/line.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/stack/switched_circuit.h"

namespace weft::wan {

// What each of these needs to be told; all of it outlives the line.
struct LineUse {
  Carried carried;  // what its packets are
  PacketSource& packets;
  PacketSink& sink;
  Entropy* entropy = nullptr;  // null: nobody is at the other end, and there is no session
  std::optional<SwitchedCircuit> circuit{};
};

// Of packets longer than this there is none (a frame of Ethernet with jumbo payload).
inline constexpr std::size_t kLongestLinePacket = 9'216;

[[nodiscard]] std::unique_ptr<Line> make_aal5_line(const LineUse& use);
[[nodiscard]] std::unique_ptr<Line> make_gfp_line(const LineUse& use);
[[nodiscard]] std::unique_ptr<Line> make_ppp_line(const LineUse& use);

enum class EthernetPhy : std::uint8_t { kLan, kWan };
// 64b/66b blocks; of the WAN's kind as they go into an STS-192c.
[[nodiscard]] std::unique_ptr<Line> make_ethernet_line(EthernetPhy phy, const LineUse& use);

// What carries the octets of another line in frames of SONET/SDH. `label`: what it has for C2.
struct Framing {
  sonet::Level level = sonet::Level::kStm64;
  std::uint8_t label = 0;
  bool scrambled = false;  // by 1 + x^43, here
};
[[nodiscard]] std::unique_ptr<Line> make_framed_line(const Framing& framing,
                                                     std::unique_ptr<Line> payload);

}  // namespace weft::wan
