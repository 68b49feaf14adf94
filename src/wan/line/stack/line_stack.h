// SPDX-License-Identifier: Apache-2.0
// What lies between a frame and a line, as a site's file names it, from the frame outwards: layers
// of packets (encapsulation/stack.h), what puts packets into a line, and what the line is.
//
//   ipv6/ppp/stm64     udp/ipv6/ethernet/10gbase-r     aal5     ethernet/gfp/stm16
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/entropy.h"
#include "base/error.h"
#include "wan/encapsulation/out_packet.h"
#include "wan/line/line.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/stack/switched_circuit.h"

namespace weft::wan {

class LineStack {
 public:
  // Whether it names a line at all, wherever in it.
  [[nodiscard]] static bool is_one(std::string_view text);
  // Errors name what is not known, or cannot be where it is, and say what would be right.
  static Expected<LineStack> parse(std::string_view text);

  // The layers of packets in it, as Stack::parse() takes them.
  [[nodiscard]] const std::string& packets() const { return packets_; }
  [[nodiscard]] std::string to_string() const;  // as parse() takes it
  // What puts packets into octets; empty: none, the line has frames of Ethernet.
  [[nodiscard]] const std::string& mapping() const { return mapping_; }
  // Of SONET/SDH: which, what it says that it carries, and whether that is scrambled there.
  [[nodiscard]] std::optional<sonet::Level> level() const;
  [[nodiscard]] std::uint8_t label() const;
  [[nodiscard]] bool payload_scrambled() const;
  // What its standard says, or kUnframedRate where there is none.
  [[nodiscard]] std::uint64_t octets_per_s() const;
  // `carried`: what its packets are, as the outermost layer of them says. All of these outlive it.
  // Without entropy nobody is at the other end: there is no session, and packets go nevertheless.
  // `circuit`: of aal5; nothing: a connection that is configured.
  [[nodiscard]] std::unique_ptr<Line> make(
      const Carried& carried, Entropy* entropy, PacketSource& packets, PacketSink& sink,
      const std::optional<SwitchedCircuit>& circuit = {}) const;

  static constexpr std::uint64_t kUnframedRate = 125'000'000;  // 1 Gbit/s

 private:
  LineStack() = default;

  std::string packets_;
  std::string mapping_;  // empty: none, the framing has packets itself
  std::string framing_;  // empty: none, the octets of the mapping are the line's
};

}  // namespace weft::wan
