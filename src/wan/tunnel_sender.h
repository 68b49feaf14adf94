// SPDX-License-Identifier: Apache-2.0
// From the fabric into the WAN: packets wait here, one queue for each lane of the far end, until
// the FIFO there has room for them and the path takes a frame. With recovery, what was sent is kept
// until the other end has it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/ring.h"
#include "base/time.h"
#include "link/packet.h"
#include "wan/byte_ranges.h"
#include "wan/frame_builder.h"
#include "wan/path.h"
#include "wan/sent_log.h"
#include "wan/session.h"
#include "wan/traffic_classes.h"
#include "wan/tunnel_counters.h"
#include "wan/tunnel_credit.h"

namespace weft::wan {

class TunnelSender final : private SentLog::Observer {
 public:
  struct Options {
    // By the lane that a packet came in on: the one that it leaves the far end on, whose FIFO and
    // credit it uses.
    std::array<Vl, kLanes> egress = straight();
    std::size_t management_packets = 64;  // of VL15, that may wait
    // With recovery: data packets that may have left and not be known to have come. Others wait in
    // the fabric, so that this site's memory is enough however much the far FIFOs would take.
    std::size_t kept_packets = std::size_t{1} << 20;
    TrafficClasses classes{};

    [[nodiscard]] static std::array<Vl, kLanes> straight();
  };

  TunnelSender(const Options& options, TunnelCounters& counters)
      : options_(options), one_class_(options.classes.uniform()), counters_(counters) {}

  // A session is up, and everything is counted from zero; it is over, and what waits is dropped.
  void begin(const Agreement& agreement, Pace pace);
  void end();

  // From the fabric, of a session that is up. Its space in the receive buffer is free when it has
  // left in a frame.
  void accept(link::PacketPtr packet);

  // What the other end says.
  void hear(const CreditItem& item);
  void acknowledged(std::uint64_t before, std::span<const AcknowledgeItem::Range> ranges, Time now);

  // Whether fill() would put something in.
  [[nodiscard]] bool has_work() const;
  // Whether all that waits to leave is packets, and so few that one more like the last would fit
  // into so many bytes of a frame too.
  [[nodiscard]] bool fits_one_more(std::size_t bytes) const {
    return management_.empty() && again_.empty() && waiting_bytes_ + last_bytes_ <= bytes;
  }
  // Puts in as much as fits of one class: the frame's, where it has one already. Returns that. What
  // it refers to stays until departed().
  std::uint8_t fill(FrameBuilder& frame, std::optional<std::uint8_t> traffic_class);
  // Whether a frame may be sent, were it without packets.
  [[nodiscard]] bool may_leave() const { return log_.has_room(); }
  // The frame leaves: its number, and what else of its head this knows.
  void leaves(FrameHead& head, Time now);
  void departed() { leaving_.clear(); }

  // For an advertisement: what was sent on a lane so far.
  [[nodiscard]] std::uint32_t packets(Vl vl) const;
  [[nodiscard]] std::uint64_t blocks(Vl vl) const { return lanes_[vl.value()].credit.sent(); }

  // `spread`: as Path::spread(), or how much longer a frame may take to come by other means.
  void expire(Duration spread, Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] Duration round_trip() const { return log_.round_trip().smoothed(); }

  // What a lane may send, and has sent.
  [[nodiscard]] const TunnelSendCredit& credit(Vl vl) const { return lanes_[vl.value()].credit; }
  // What so many blocks of the other end's are.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t blocks) const {
    return blocks * block_.bytes();
  }

 private:
  // A packet that was sent and is not known to have come.
  struct Kept {
    link::PacketPtr packet;  // null: it has come
    std::uint32_t position = 0;
  };
  struct Lane {
    link::PacketQueue queue;
    TunnelSendCredit credit;
    std::uint64_t sequence = 0;  // of the packet at the front, once it has begun; else of the next
    std::uint64_t settled = 0;   // packets that the other end says have come, or never will
    std::uint32_t position = 0;  // of the packet at the front, once it has begun
    std::size_t offset = 0;      // of it, bytes that have left
    // With recovery. One that has begun is here already, the last.
    Ring<Kept> kept;
    std::uint64_t first_kept = 0;
    // By their sequence, of those that went in pieces: what has come of them.
    std::map<std::uint64_t, std::vector<ByteRange>> come;
  };

  // SentLog::Observer
  void arrived(const SentPiece& piece) override;
  void lost(const SentPiece& piece) override;

  [[nodiscard]] std::size_t fitting(const FrameBuilder& frame, const link::Packet& packet,
                                    std::size_t offset, std::size_t length) const;
  [[nodiscard]] bool fill_again(FrameBuilder& frame);
  [[nodiscard]] bool fill_management(FrameBuilder& frame);
  void fill_data(FrameBuilder& frame);
  [[nodiscard]] bool send_whole(Lane& lane, Vl vl, FrameBuilder& frame, std::size_t most);
  [[nodiscard]] bool send_piece(Lane& lane, Vl vl, FrameBuilder& frame);
  [[nodiscard]] link::PacketPtr pop(Lane& lane);
  [[nodiscard]] link::Packet& front(Lane& lane) const;
  void begin_front(Lane& lane, std::size_t size);
  void end_front(Lane& lane, Vl vl);
  [[nodiscard]] bool sendable(const Lane& lane) const;
  [[nodiscard]] bool joins(std::uint8_t traffic_class);
  [[nodiscard]] bool joins(const link::Packet& packet);
  [[nodiscard]] std::uint32_t sendable_lanes() const;  // bit n: lane n
  void note_sent(Vl vl, std::uint64_t first, std::size_t count, std::size_t bytes);
  [[nodiscard]] static Kept* find(Lane& lane, std::uint64_t sequence);
  void forget_before(Lane& lane, std::uint64_t end);
  [[nodiscard]] static bool completes(Lane& lane, const SentPiece& piece);

  const Options options_;
  const bool one_class_;
  TunnelCounters& counters_;
  bool recovery_ = false;
  BlockSize block_;
  std::array<Lane, kLanes> lanes_;
  std::uint32_t busy_ = 0;  // bit n: lane n has packets that have not left, or not all of one
  std::size_t turn_ = 0;    // the lane that is looked at first
  // Of packets in lanes' queues, with their heads: all of them, the last that has come.
  std::size_t waiting_bytes_ = 0;
  std::size_t last_bytes_ = 0;
  link::PacketQueue management_;
  std::size_t kept_ = 0;  // packets, of all lanes
  std::deque<SentPiece> again_;
  std::vector<SentPiece> pieces_;      // of the frame that is put together
  std::optional<std::uint8_t> class_;  // the same; nothing: there is nothing in it
  SentLog log_;
  std::uint64_t slowed_ = 0;   // times that it was, as far as they are counted
  link::PacketQueue leaving_;  // in frames that are put together
};

}  // namespace weft::wan
