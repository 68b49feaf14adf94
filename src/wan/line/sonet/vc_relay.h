// SPDX-License-Identifier: Apache-2.0
// Takes containers from one line to another one, whose clock need not be the same: what waits grows
// or shrinks with the difference, and pointers move containers so that it stays within bounds
// (G.783, 10; G.707, 8.1.3 to 8.1.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/line_receiver.h"
#include "wan/line/sonet/sonet_counters.h"
#include "wan/line/sonet/vc_stream.h"

namespace weft::wan::sonet {

// How full it is is measured at the pointers of each frame sent, in octets of containers, those of
// the frame that is being received included. A step of the pointer follows when that has left the
// middle by a quarter of a container, at most one in four frames. So containers wait for two and a
// half frames, and octets may come and be asked for in pieces of up to half a frame without any
// step that the clocks do not ask for.
class VcRelay final : public VcSink, public VcSource {
 public:
  // `counters` are those of the line it sends to, and outlive it.
  VcRelay(Level level, SonetCounters& counters);
  // Of which line it takes: the receiver that has it as its sink. It outlives it.
  void listen(const LineReceiver& receiver) { receiver_ = &receiver; }

  void take(Bytes octets, std::size_t position) override;
  // What waits is sent; then there is an AIS until containers come again.
  void interrupted() override {}

  [[nodiscard]] PointerAction next_pointer() override;
  void fill(MutableBytes octets) override;

 private:
  [[nodiscard]] std::size_t waiting() const { return static_cast<std::size_t>(written_ - read_); }
  [[nodiscard]] std::size_t fullness() const;
  [[nodiscard]] PointerAction begin();
  [[nodiscard]] PointerStep step_wanted();
  void forget_starts();
  void clear();

  const Geometry g_;
  SonetCounters& counters_;
  const LineReceiver* receiver_ = nullptr;
  std::vector<std::byte> ring_;
  std::uint64_t written_ = 0;  // octets ever
  std::uint64_t read_ = 0;
  std::deque<std::uint64_t> starts_;  // containers that begin in what waits
  bool runs_ = false;                 // there are containers to send
  std::uint16_t value_ = 0;
  unsigned since_step_ = 0;  // frames
};

}  // namespace weft::wan::sonet
