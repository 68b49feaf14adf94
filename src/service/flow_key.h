// SPDX-License-Identifier: Apache-2.0
// Which packets are of one flow to the runtime: those that differ at most in what follows their
// transport headers and in what changes from packet to packet.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace weft::service {

// LIDs, SL, kind of packet, the port it came by, GIDs, P_Key, opcode and destination QP; of UD the
// source QP and the Q_Key too. Not the PSN, nor flags, extended headers and the payload.
struct FlowKey {
  static constexpr std::size_t kWords = 7;
  std::array<std::uint64_t, kWords> words{};

  friend bool operator==(const FlowKey& a, const FlowKey& b) {
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < kWords; ++i)
      difference |= a.words[i] ^ b.words[i];
    return difference == 0;
  }

  // Of a whole packet, LRH through VCRC. False: it is not one that verdicts for flows are kept of.
  // It is malformed, raw, of an opcode that nobody knows or of RD or a manufacturer, or to QP 0 or
  // 1; or of the communication manager elsewhere, which its Q_Key shows. True: Fields::parse gives
  // Form::kTransport.
  [[nodiscard]] static bool read(Bytes packet, std::uint8_t port, FlowKey& out);

  // Nobody who does not know `secret` can make many keys of one hash.
  [[nodiscard]] std::uint64_t hash(const std::array<std::uint64_t, kWords + 1>& secret) const;
};

}  // namespace weft::service
