// SPDX-License-Identifier: Apache-2.0
// From the WAN into the fabric: packets are put back together and in order, lane by lane, and wait
// in the FIFOs of the bulk buffer. With recovery a packet that is missing will come; without, it is
// waited for no longer than the network may mix frames up, and then counted as lost.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "link/packet.h"
#include "link/packet_pool.h"
#include "wan/bulk_buffer.h"
#include "wan/byte_ranges.h"
#include "wan/frame.h"
#include "wan/tunnel_counters.h"
#include "wan/tunnel_credit.h"

namespace weft::wan {

class TunnelReceiver {
 public:
  struct Options {
    Duration mixed = 2ms;  // without recovery: how late a frame may be behind those sent after it
  };

  // Packets come from `pool`, their payloads from the share's memory.
  TunnelReceiver(const Options& options, BulkBuffer::Share& share, link::PacketPool& pool,
                 TunnelCounters& counters)
      : options_(options), share_(share), pool_(pool), counters_(counters) {}

  // A session is up, and everything is counted from zero; it is over, and what is here is dropped.
  void begin(bool recovery);
  void end();

  // False: it was dropped for want of credit or memory, and must come again.
  [[nodiscard]] bool take(const PacketItem& item, Time now);
  // What the other end says that it has sent.
  void hear(const CreditAdvertisement& credit, Time now);
  // A copy of one that came in one piece. Null, counted: the machine has no memory.
  [[nodiscard]] link::PacketPtr make(Bytes packet) { return make(stretches_of(packet), false); }

  // The next packet of a lane that is to be delivered; null: none.
  [[nodiscard]] const link::Packet* front(Vl vl) const { return share_.fifo(vl).front(); }
  [[nodiscard]] link::PacketPtr pop(Vl vl) {
    stays_ = false;
    return share_.fifo(vl).pop();
  }
  // What is in the FIFOs is dropped: the local link is down.
  void drop_delivered();

  // For an advertisement of a lane: whether it is due, and what it says, which counts as told.
  [[nodiscard]] bool worth_telling(Vl vl) const;
  [[nodiscard]] std::uint64_t tell(Vl vl);
  [[nodiscard]] std::uint32_t settled(Vl vl) const {
    return static_cast<std::uint32_t>(lanes_[vl.value()].expected);
  }

  void expire(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  // A packet as it came: its front, which link::Packet has inline, the rest, and the VCRC.
  struct Stretches {
    Bytes front;
    Bytes rest;
    Bytes vcrc;
  };
  // A packet that is not complete, or that others must be delivered before.
  struct Waiting {
    link::PacketPtr packet;  // null: incomplete, or there was no memory
    bool complete = false;
    std::uint64_t position = 0;
    std::uint64_t blocks = 0;
    std::uint16_t total = 0;  // bytes
    Time since{};
    std::vector<std::byte> bytes;  // of pieces
    std::vector<ByteRange> come;   // of which
  };
  struct Lane {
    std::uint64_t expected = 0;        // the number of the packet to be delivered next
    std::uint64_t position = 0;        // the blocks that were sent before it
    std::uint64_t known = 0;           // packets that are known to have been sent
    std::uint64_t known_position = 0;  // their blocks
    Time known_since{};
    std::map<std::uint64_t, Waiting> waiting;
    // With recovery, while packets wait: memory for the one that they wait for. Else they could
    // have taken all there is, and would wait for ever.
    link::PacketPtr spare;
    TunnelReceiveCredit credit;
  };

  [[nodiscard]] std::uint64_t drained(Vl vl) const;
  [[nodiscard]] Waiting* place(Lane& lane, const PacketItem& item, std::uint64_t sequence,
                               std::uint64_t position, Time now);
  [[nodiscard]] bool take_next(Lane& lane, Fifo& fifo, const PacketItem& item,
                               std::uint64_t position);
  // False: there is no memory, and it must come again.
  [[nodiscard]] bool put(Lane& lane, Waiting& waiting, const PacketItem& item, bool is_next);
  [[nodiscard]] bool complete(Lane& lane, Waiting& waiting, const Stretches& packet, bool is_next);
  [[nodiscard]] bool has_spare(Lane& lane);
  [[nodiscard]] bool may_stay();
  [[nodiscard]] static Stretches stretches_of(Bytes packet);
  [[nodiscard]] static Stretches stretches_of(const PacketItem& item);
  [[nodiscard]] link::PacketPtr try_make(const Stretches& packet, bool stays);
  [[nodiscard]] link::PacketPtr make(const Stretches& packet, bool stays);
  // Null: there was no memory for it.
  static void deliver(Lane& lane, Fifo& fifo, link::PacketPtr packet, std::uint64_t position,
                      std::uint64_t blocks);
  void deliver_waiting(Lane& lane, Fifo& fifo);
  [[nodiscard]] std::optional<Time> gives_up(const Lane& lane) const;
  void give_up(Lane& lane, Fifo& fifo);

  const Options options_;
  BulkBuffer::Share& share_;
  link::PacketPool& pool_;
  TunnelCounters& counters_;
  bool recovery_ = false;
  // may_stay() has found out that they may, and nothing has left a FIFO since, when the landing
  // held so many bytes.
  bool stays_ = false;
  std::uint64_t held_ = 0;
  std::array<Lane, kLanes> lanes_;
};

}  // namespace weft::wan
