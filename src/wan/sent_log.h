// SPDX-License-Identifier: Apache-2.0
// Loss recovery, the sending half: which frames are on their way and what they hold. A frame is
// never sent again; what a lost one held goes into later ones under their own numbers, so that it
// may be cut otherwise, and every acknowledgement tells which transmission it is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/ring.h"
#include "base/time.h"
#include "wan/arrival_log.h"
#include "wan/restraint.h"
#include "wan/round_trip.h"
#include "wan/send_window.h"

namespace weft::wan {

// What a frame holds of a lane: a run of whole packets, or bytes of one.
struct SentPiece {
  Vl vl{};
  std::uint16_t packets = 0;   // whole ones; 0: bytes of one packet, which may be all of it
  std::uint16_t offset = 0;    // in that
  std::uint32_t length = 0;    // bytes, of all
  std::uint64_t sequence = 0;  // of the packet, the first one, on the lane

  friend bool operator==(const SentPiece&, const SentPiece&) = default;
};

class SentLog {
 public:
  // What becomes of pieces, as they were sent. One may be lost first and come all the same.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void arrived(const SentPiece& piece) = 0;
    virtual void lost(const SentPiece& piece) = 0;
  };

  SentLog() = default;
  // What bounds pieces: how much of them is under way, and how fast they leave.
  SentLog(const SendWindow& window, std::optional<Restraint> restraint)
      : window_(window), restraint_(restraint) {}

  // Of the frame that is sent next.
  [[nodiscard]] std::uint64_t next() const { return first_ + frames_.size(); }
  // How many frames before that may still be acknowledged, itself included: FrameHead::open.
  [[nodiscard]] std::uint64_t open() const { return next() - first_; }
  // For a frame. Those with packets leave some of it to acknowledgements, which free it.
  [[nodiscard]] bool has_room() const { return frames_.size() < kFrameWindow - 1; }
  [[nodiscard]] bool has_room_for_packets() const { return frames_.size() < kFrameWindow / 2; }
  // For pieces.
  [[nodiscard]] bool window_is_open() const {
    return window_.admits(under_way_) && (!restraint_ || restraint_->admits());
  }

  // Frame next() leaves. Without pieces nobody waits for it.
  void sent(std::span<const SentPiece> pieces, Time now);
  // FrameHead::acknowledged, and ranges beyond it. False: it acknowledges what was never sent.
  bool acknowledged(std::uint64_t before, std::span<const AcknowledgeItem::Range> ranges, Time now,
                    Observer& observer);
  // Gives up frames that were overtaken; when all are silent, the oldest, to find out. Pieces may
  // leave again, if they had to wait for that.
  void expire(Time now, Observer& observer);
  [[nodiscard]] std::optional<Time> deadline() const;
  // Path::spread(): those that are later by no more were not overtaken.
  void set_spread(Duration spread) { spread_ = spread; }

  [[nodiscard]] const RoundTrip& round_trip() const { return round_trip_; }
  // Nothing: the rate that pieces leave at is not this one's matter.
  [[nodiscard]] const std::optional<Restraint>& restraint() const { return restraint_; }
  // Frames with pieces that have neither come nor been given up.
  [[nodiscard]] std::size_t awaited() const { return awaited_; }

 private:
  enum class State : std::uint8_t { kAwaited, kSettled };
  struct Frame {
    Time sent_at;
    std::uint64_t piece = 0;   // the first of its pieces, as counted from the beginning
    std::uint64_t before = 0;  // bytes that had come when it left
    std::uint32_t pieces = 0;
    std::uint32_t bytes = 0;  // of pieces
    State state = State::kAwaited;
    bool come = false;
  };
  [[nodiscard]] Frame& at(std::uint64_t number) { return frames_[number - first_]; }
  [[nodiscard]] const Frame& at(std::uint64_t number) const { return frames_[number - first_]; }
  void come(std::uint64_t number, Time now, Observer& observer);
  void come(std::uint64_t begin, std::uint64_t end, Time now, Observer& observer);
  void settle(Frame& frame);
  void give_up(std::uint64_t number, Observer& observer);
  void trim();
  [[nodiscard]] std::optional<std::uint64_t> oldest_awaited() const;

  std::uint64_t first_ = 0;
  Ring<Frame> frames_;
  std::uint64_t first_piece_ = 0;
  Ring<SentPiece> pieces_;
  std::map<std::uint64_t, std::uint64_t> known_;  // ranges that have come: begin, end
  std::uint64_t newest_come_ = 0;                 // one beyond
  std::uint64_t checked_ = 0;                     // all before it are settled
  std::size_t awaited_ = 0;
  std::uint64_t under_way_ = 0;  // bytes of pieces in awaited frames
  std::uint64_t come_ = 0;       // bytes of pieces, so far
  SendWindow window_;
  std::optional<Restraint> restraint_;
  Time heard_at_{};  // the last news, or when waiting began
  unsigned silences_ = 0;
  RoundTrip round_trip_;
  Duration spread_ = 0ns;
};

}  // namespace weft::wan
