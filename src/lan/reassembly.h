// SPDX-License-Identifier: Apache-2.0
// Frames that came in several datagrams, put together again, however those are lost, doubled and
// overtaken on their way. Memory and time are bounded: who sends parts of frames without end only
// loses frames of his own, as long as there is room.
//
//   nothing --part--> open --last missing part--> complete: handed out, known as come
//                      |  \--time is over, or room is needed--> dropped, counted
//                      +--part that contradicts--> dropped, counted
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "lan/arrival_window.h"
#include "lan/lan_counters.h"
#include "lan/lan_header.h"

namespace weft::lan {

class Reassembly {
 public:
  struct Options {
    std::size_t frames = 64;       // that are open at a time, each with room for the longest frame
    std::size_t frames_each = 16;  // of one sender
    Duration patience = 250ms;     // from the first part that came
  };
  // A sender, by a small number that whoever knows senders gives it.
  using Source = std::uint32_t;

  // `counters` outlives it.
  Reassembly(const Options& options, LanCounters& counters);
  Reassembly(const Reassembly&) = delete;
  Reassembly& operator=(const Reassembly&) = delete;

  // A datagram of a sender. Returns the frame that is whole with it, which stays until the next
  // call; nothing: it is not, or the datagram was dropped and counted.
  [[nodiscard]] std::optional<LanMessage> add(Source source, const LanMessage& message, Time now);
  // The sender has gone: what is open of it is dropped, and another one may have its number.
  void forget(Source source);

  // Drops what was open for too long.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] std::size_t open() const { return open_; }
  // Bytes of room for frames that were ever needed, and are kept for the next ones.
  [[nodiscard]] std::size_t memory() const;

 private:
  static constexpr std::size_t kUnits = (kLongestFrame + LanHeader::kUnit - 1) / LanHeader::kUnit;
  struct Frame {
    bool open = false;
    Source source = 0;
    LanHeader header{};  // of the first part that came, but with offset 0
    Time begun{};
    std::size_t missing = 0;  // bytes
  };
  // Apart from what is looked through to find a frame.
  struct Room {
    std::array<std::uint64_t, (kUnits + 63) / 64> come{};  // by units of LanHeader::kUnit
    std::vector<std::byte> bytes;
  };
  enum class Fits : std::uint8_t { kYes, kDoubled, kConflict };

  [[nodiscard]] Frame* find(Source source, std::uint32_t number);
  [[nodiscard]] Frame& begin(Source source, const LanHeader& header, Time now);
  [[nodiscard]] Frame& place_for(Source source);
  [[nodiscard]] Room& room(const Frame& frame) {
    return rooms_[static_cast<std::size_t>(&frame - frames_.data())];
  }
  [[nodiscard]] Fits fit(const Frame& frame, const LanMessage& message);
  [[nodiscard]] bool agrees(const Frame& frame, const LanMessage& message);
  void put(Frame& frame, const LanMessage& message);
  void close(Frame& frame);
  void drop(Frame& frame, LanCounter why);
  [[nodiscard]] ArrivalWindow& window(Source source);

  const Options options_;
  LanCounters& counters_;
  std::vector<Frame> frames_;
  std::vector<Room> rooms_;             // of frames_, in their order
  std::vector<ArrivalWindow> windows_;  // by sender
  std::size_t open_ = 0;
};

}  // namespace weft::lan
