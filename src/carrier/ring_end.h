// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "carrier/ring_memory.h"
#include "link/channel.h"
#include "link/packet.h"

namespace weft::carrier {

// One side of two rings. Believes nothing that the other side wrote: what makes no sense is a
// lie(), after which there is nothing more to be had from it. For one thread at a time.
class RingEnd {
 public:
  // Both begin as zeros and stay as long as this; `theirs` may change at any time.
  RingEnd(RingMemory& ours, const RingMemory& theirs) : ours_(ours), theirs_(theirs) {}

  // In words for a person.
  [[nodiscard]] std::optional<std::string_view> lie() const { return lie_; }

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
  // Shows the other side what has changed. True: it sleeps for that and is to be woken.
  [[nodiscard]] bool publish();
  // From now on the other side wakes this one when it has written something. False, and it does
  // not: it has written meanwhile.
  [[nodiscard]] bool sleep();
  void look() { set_sleeps(sleeps_ & ~std::uint32_t{kUntilWritten}); }

 private:
  void set_sleeps(std::uint32_t sleeps);
  [[nodiscard]] std::uint64_t room();
  [[nodiscard]] bool await_room(std::uint64_t wanted);
  [[nodiscard]] std::optional<MutableBytes> reserve(RecordKind kind, std::size_t size);
  [[nodiscard]] bool has_more();
  void lied(std::string_view what);

  RingMemory& ours_;
  const RingMemory& theirs_;
  std::optional<std::string_view> lie_;
  // This side's own, of which the shared counts are copies.
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::uint32_t sleeps_ = 0;
  std::size_t taking_ = 0;  // bytes of the record that next() gave
  std::uint64_t shown_written_ = 0;
  std::uint64_t shown_read_ = 0;
  // What was last believed of theirs.
  std::uint64_t their_read_ = 0;
  std::uint64_t their_written_ = 0;
};

}  // namespace weft::carrier
