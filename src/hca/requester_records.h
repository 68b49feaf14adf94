// SPDX-License-Identifier: Apache-2.0
// What a requester remembers of packets that are outstanding.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace weft::hca {

// A request packet that is on its way, or waits to be sent again. A read stands for all packet
// sequence numbers of its response. Serials count packets from the first one of the connection, so
// that they can be compared; the PSN is their low 24 bits, moved by the first PSN.
struct PacketRecord {
  std::uint64_t serial = 0;
  std::uint64_t request = 0;  // number of its work request
  std::uint64_t order = 0;    // counts transmissions: when this packet was last sent
  Time sent_at{};
  Time before_at{};          // the transmission before that, if it was resent
  std::uint32_t offset = 0;  // of its payload in the message, bytes
  std::uint32_t count = 1;   // PSNs
  std::uint32_t cost = 0;    // counted as in flight, by the rule of kPacketCost; reads: nothing
  bool fetches = false;      // a read or an atomic: it has an entry in the queue of fetches
  bool out = false;          // in the burst that the wire is being offered
  bool lost = false;         // to be sent (again)
  bool delivered = false;    // arrived, as far as the responder has said
  bool resent = false;       // more than once on the wire
  bool wide = false;         // longer than every path is sure to take
  std::uint8_t tries = 0;    // transmissions, while not many
};

// A read or an atomic that waits for its response.
struct Fetch {
  static constexpr std::uint32_t kMostSelective =
      256;  // packets whose arrival in any order is kept

  std::uint64_t serial = 0;
  std::uint32_t count = 1;     // packets of the response
  std::uint32_t bytes = 0;     // of the response
  std::uint32_t cost = 0;      // of the response on its way to us
  std::uint32_t received = 0;  // packets
  std::uint32_t next = 0;      // the first packet that is missing
  std::uint32_t beyond = 0;    // one beyond the last packet that has arrived
  std::uint32_t ask_from = 0;  // where asking again goes on, of those missing
  std::uint32_t tries = 0;     // how often it was asked for again, without anything coming
  std::optional<Time> gap_at;  // something that was sent after what is missing arrived then
  Time asked_at{};
  std::array<std::uint64_t, kMostSelective / 64> arrived{};

  [[nodiscard]] bool complete() const { return received == count; }
  [[nodiscard]] bool has(std::uint32_t packet) const {
    if (packet < next) return true;
    return packet < kMostSelective && (arrived[packet / 64] >> (packet % 64) & 1) != 0;
  }
  // A packet that had not arrived before.
  void add(std::uint32_t packet) {
    assert(!has(packet) && packet < count);
    ++received;
    if (packet < kMostSelective) arrived[packet / 64] |= std::uint64_t{1} << (packet % 64);
    if (packet >= beyond) beyond = packet + 1;
    if (packet != next) return;
    do {
      ++next;
    } while (next < beyond && has_bit(next));
  }
  // The first missing packet from `packet` on; `count` if there is none.
  [[nodiscard]] std::uint32_t first_missing(std::uint32_t packet) const {
    if (packet < next) packet = next;
    while (packet < beyond && has_bit(packet))
      ++packet;
    return packet < count ? packet : count;
  }
  // Where the run of missing packets that begins at `packet` ends.
  [[nodiscard]] std::uint32_t missing_until(std::uint32_t packet) const {
    while (packet < beyond && !has_bit(packet))
      ++packet;
    return packet < beyond ? packet : count;
  }

 private:
  [[nodiscard]] bool has_bit(std::uint32_t packet) const {
    return packet < kMostSelective && (arrived[packet / 64] >> (packet % 64) & 1) != 0;
  }
};

}  // namespace weft::hca
