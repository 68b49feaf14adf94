// SPDX-License-Identifier: Apache-2.0
// A message of the DDR auto-negotiation specification (Mellanox document 2429, clause 2.1.3) as it
// was sent, word by word. It is read here anew, and not by negotiation/advertisement.h, so that a
// mistake there is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/mad.h"

namespace weft::phy::conformance {

// Which of the four messages of clause 2.1.1 it is.
enum class Speech : std::uint8_t { kCapabilities, kCapabilitiesAck, kResult, kResultAck };

struct SeenMad {
  // Of the packet that the MAD was in.
  struct Envelope {
    Vl vl{};
    Lid slid{};
    Lid dlid{};
    Qpn source_qp{};
    Qpn dest_qp{};
    friend bool operator==(const Envelope&, const Envelope&) = default;
  };
  struct Head {
    wire::MadHeader header{};
    Lid dr_slid{};
    Lid dr_dlid{};
    friend bool operator==(const Head&, const Head&) = default;
  };

  std::optional<Envelope> envelope{};  // nothing: not seen
  std::optional<Head> head{};          // nothing: only the fields were told
  std::uint32_t flags = 0;             // the four words of table 1
  std::uint32_t bandwidth = 0;
  std::uint32_t duration_ms = 0;
  std::uint32_t iterations = 0;
  bool rest_zero = true;  // the reserved bytes behind them

  friend bool operator==(const SeenMad&, const SeenMad&) = default;

  [[nodiscard]] bool acknowledge() const { return (flags >> 31 & 1) != 0; }
  [[nodiscard]] bool serdes_configured() const { return (flags >> 30 & 1) != 0; }
  [[nodiscard]] bool no_sweep() const { return (flags >> 29 & 1) != 0; }
  [[nodiscard]] bool ddr() const { return (flags & 1) != 0; }
  [[nodiscard]] bool reserved_set() const { return (flags & 0x1FFF'FFFE) != 0 || !rest_zero; }
  [[nodiscard]] Speech speech() const;
};

// Any MAD: class and attribute may be others than those of the protocol.
[[nodiscard]] SeenMad read_mad(wire::MadBytes mad);

enum class NoMessage : std::uint8_t {
  kOther,    // nothing of this protocol
  kDamaged,  // its CRC is wrong: whoever received it dropped it
};

// A packet of a link, LRH through VCRC. A MAD is taken for one of the protocol when its attribute
// is 0x02C9, or when it is a directed-route SMP with the method Send, which no other one has.
[[nodiscard]] std::variant<SeenMad, NoMessage> read_packet(Bytes packet);

// Whether class and attribute are those of the protocol, as far as they were seen.
[[nodiscard]] bool is_of_protocol(const SeenMad& mad);
// What of its fields the specification forbids: "bandwidth is 2500". Nothing: it can be used.
[[nodiscard]] std::optional<std::string_view> forbidden_field(const SeenMad& mad);
// "Capabilities Advertisement + ACK".
[[nodiscard]] std::string_view speech_name(Speech speech);

}  // namespace weft::phy::conformance
