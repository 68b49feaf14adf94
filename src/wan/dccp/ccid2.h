// SPDX-License-Identifier: Apache-2.0
// What CCID 2 lets a DCCP sender have under way (RFC 4341): TCP's congestion control, in packets,
// by what the other end's Ack Vectors say. Nothing is sent again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"
#include "wan/dccp/ack_vector.h"
#include "wan/dccp/sequence.h"
#include "wan/round_trip.h"

namespace weft::wan::dccp {

class Ccid2 {
 public:
  // Packets that are remembered; what is older counts as lost.
  static constexpr std::size_t kMostKept = std::size_t{1} << 16;
  static constexpr std::size_t kMostWindow = kMostKept / 2;
  // So many data packets sent later were acknowledged: this one is lost (RFC 4341, 5).
  static constexpr std::size_t kOvertaken = 3;

  // What has come of a call, for counters.
  struct Change {
    std::uint64_t acknowledged = 0;  // data packets
    std::uint64_t marked = 0;
    std::uint64_t lost = 0;
    bool halved = false;
  };

  // `packet`: bytes of data packets, by which the first window is chosen (RFC 3390). `most`: the
  // largest window.
  explicit Ccid2(std::size_t packet, std::size_t most = kMostWindow);

  // Data packets that may be sent now.
  [[nodiscard]] std::size_t room() const { return window_ > pipe_ ? window_ - pipe_ : 0; }
  // The next one of this end's packets, each in turn.
  void sent(Sequence sequence, bool is_data, Time now);

  // An Ack Vector of the other end, whose newest packet is one that was sent; several of a packet
  // in turn, of which each goes on where the one before ended.
  Change acknowledge(Sequence newest, Bytes cells, Time now);
  // So many of its packets that bore only acknowledgements are lost (RFC 4341, 6.1.2).
  void lost_acknowledgements();
  // It asks for one packet less (RFC 4340, 11.7.2), or for no more than now for a round trip
  // (11.6).
  void reduce();
  void hold(Time now);

  // When expire() is due: nothing was acknowledged for too long.
  [[nodiscard]] std::optional<Time> deadline() const;
  Change expire(Time now);

  [[nodiscard]] std::size_t window() const { return window_; }
  [[nodiscard]] std::size_t pipe() const { return pipe_; }
  [[nodiscard]] const RoundTrip& round_trip() const { return round_trip_; }
  // How many data packets the other end shall acknowledge at a time.
  [[nodiscard]] std::uint16_t ack_ratio() const;

 private:
  enum class Kind : std::uint8_t { kData, kSettled };
  struct Sent {
    Time at;
    Kind kind;
  };

  [[nodiscard]] std::size_t index_of(Sequence sequence) const;
  void settle_run(Sequence newest, std::size_t count, bool marked, Change& change);
  void note_highest(Sequence sequence);
  void find_lost(Change& change);
  void congested(Sequence sequence, Change& change);
  void grow(std::uint64_t acknowledged, Time now);
  void forget_settled();
  [[nodiscard]] Duration patience() const;

  const std::size_t most_;
  std::size_t window_;
  std::size_t threshold_ = SIZE_MAX;   // below it: slow start
  std::size_t pipe_ = 0;               // data packets under way
  std::uint64_t since_growth_ = 0;     // acknowledged since then
  std::optional<Sequence> filled_by_;  // the last one that used all of the window
  bool any_sent_ = false;
  Sequence newest_sent_;
  Sequence recovered_at_;  // losses up to here are of the congestion that was answered
  bool recovering_ = false;
  std::deque<Sent> sent_;                       // up to newest_sent_, the oldest first
  std::array<Sequence, kOvertaken> highest_{};  // data packets acknowledged, the highest first
  std::size_t highest_count_ = 0;
  RoundTrip round_trip_;
  Time restarted_{};  // the timer
  unsigned backoff_ = 0;
  Time held_until_{};
  std::uint16_t ratio_ = 2;
  std::uint64_t data_since_ratio_ = 0;  // acknowledged since acknowledgements were lost
};

}  // namespace weft::wan::dccp
