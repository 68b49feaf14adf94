// SPDX-License-Identifier: Apache-2.0
// Packets over a path that swallows long ones and tells nobody (RFC 2923). A connection's path MTU
// cannot be changed, and an application can have the kernel cut no datagram that it believes the
// path to take, so between Weft peers long packets are cut here: each piece is a packet that every
// path takes. Either end does so when it finds that its own do not arrive; both always join them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "hca/datagram.h"
#include "wire/bth.h"
#include "wire/weft_piece.h"

namespace weft::hca {

// From BTH to the last pad byte, what fits with UDP and ICRC into 1280 bytes of IPv6: no path is
// narrower.
inline constexpr std::size_t kNarrowPacket = 1280 - 40 - 8 - 4;
// Of a whole packet, what one piece carries.
inline constexpr std::size_t kPieceBytes =
    kNarrowPacket - wire::Bth::kSize - wire::WeftPiece::kSize;
static_assert(kPieceBytes % 4 == 0);

class PacketCutter {
 public:
  // Puts pieces in the place of the one packet of `burst`, which refers to this until the next
  // call.
  void cut(Burst& burst);

 private:
  void add(Burst& burst, std::size_t at, std::size_t length);

  std::array<std::byte, OutPacket::kMaxHeader> header_{};
  std::vector<Bytes> parts_;  // of the whole packet
  wire::Bth bth_{};
  std::uint16_t length_ = 0;  // as WeftPiece has it
  std::uint16_t number_ = 0;
};

// Bounded: a few packets of which pieces are missing, the oldest of which give way to new ones.
class PacketJoiner {
 public:
  enum class Verdict : std::uint8_t {
    kWhole,       // this is what a packet lacked: whole() has it
    kIncomplete,  // others are missing
    kMalformed,   // of a shape that a cutter does not make
  };
  // `piece`: what follows the BTH.
  Verdict add(Psn psn, Bytes piece);
  // The packet that was completed last, from BTH to pad; good until the next add() or clear().
  [[nodiscard]] Bytes whole() const { return whole_; }
  void clear();

 private:
  static constexpr std::size_t kMostPartial = 16;
  // A packet whose pieces have been coming for so many others is not waited for: numbers come again
  // after 65,536, then maybe with the same PSN.
  static constexpr std::uint64_t kLongestWait = 4096;
  struct Partial {
    wire::WeftPiece which{};  // its offset does not count
    Psn psn{};
    std::uint32_t missing = 0;  // a bit for each piece
    std::uint64_t begun = 0;    // its place among all that have begun; 0: unused
    std::vector<std::byte> bytes;
  };
  Partial& partial_of(Psn psn, const wire::WeftPiece& which);

  std::vector<Partial> partial_;  // none before the first piece
  std::uint64_t begun_ = 0;       // packets so far
  Bytes whole_;
};

}  // namespace weft::hca
