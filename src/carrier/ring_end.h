// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "carrier/ring_bytes.h"
#include "carrier/ring_memory.h"
#include "link/channel.h"
#include "link/packet.h"

namespace weft::carrier {

// One side of two rings of records. Believes nothing that the other side wrote: what makes no sense
// is a lie(), after which there is nothing more to be had from it. For one thread at a time.
class RingEnd {
 public:
  // Both begin as zeros and stay as long as this; `theirs` may change at any time.
  RingEnd(RingMemory& ours, const RingMemory& theirs);

  // In words for a person.
  [[nodiscard]] std::optional<std::string_view> lie() const { return ring_.lie(); }

  // --- what is sent: the other side sees it after publish() -------------------------------------
  // For a packet of any size, and some flow-control packets besides.
  [[nodiscard]] bool has_room();
  // False: there is no room for it.
  [[nodiscard]] bool put(const link::Packet& packet);
  [[nodiscard]] bool put(link::SignalBytes flow_control);

  // --- what arrives -----------------------------------------------------------------------------
  struct Record {
    bool is_packet = false;  // else a flow-control packet
    Bytes bytes;             // where the other side can change them at any time: copy, then judge
  };
  // The first one, until taken(). Nothing: there is none, or a lie.
  [[nodiscard]] std::optional<Record> next();
  void taken();

  // --- both ------------------------------------------------------------------------------------
  // As of RingBytes.
  [[nodiscard]] bool publish() { return ring_.publish(); }
  [[nodiscard]] bool sleep() { return ring_.sleep(); }
  void look() { ring_.look(); }

 private:
  [[nodiscard]] std::optional<MutableBytes> reserve(RecordKind kind, std::size_t size);

  RingBytes ring_;
  std::size_t taking_ = 0;  // bytes of the record that next() gave
};

}  // namespace weft::carrier
