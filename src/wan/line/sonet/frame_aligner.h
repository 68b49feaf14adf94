// SPDX-License-Identifier: Apache-2.0
// Finds frames in the octets of a line, at any bit (G.783, 6.2.5.1). The octets in front of the
// buffer's first frame are all that is ever looked at twice: once aligned, octets are copied into a
// frame, or not even that where a whole one is at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "wan/line/octet_stream.h"
#include "wan/line/sonet/defects.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/sonet_counters.h"

namespace weft::wan::sonet {

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A frame as it came, scrambled. Gone when this returns.
  virtual void frame(Bytes line) = 0;
  // The next frame does not follow the last one.
  virtual void alignment_lost() = 0;
};

// The three A1 and three A2 around the place where one becomes the other count as framing octets,
// of all that there are: more of them would be wrong more often without being found more surely.
//
// A pattern anywhere, at any bit, may begin a frame; when the next one is where it should be, there
// is alignment, and the second frame is the first that is handed on. Wrong patterns in as many
// frames as the table of defects says end it. LOS, OOF and LOF are set here.
class FrameAligner final : public OctetSink {
 public:
  // All outlive it.
  FrameAligner(Level level, FrameSink& sink, Defects& defects, SonetCounters& counters);

  void take(Bytes octets) override;
  // The octets that come next do not follow: frames are looked for anew.
  void interrupted() override;
  // There is no signal on the line: LOS, until frames are found again.
  void lose_signal();

  [[nodiscard]] bool aligned() const { return state_ == State::kAligned; }
  // Bits of each octet of the line that belong to the next octet of a frame, 0 to 7.
  [[nodiscard]] unsigned bit_offset() const { return shift_; }
  // Octets that have been taken so far.
  [[nodiscard]] std::uint64_t octets() const { return octets_; }
  // Where in a frame the next octet is; 0 while there is no alignment.
  [[nodiscard]] std::size_t position() const { return aligned() ? used_ : 0; }

 private:
  enum class State : std::uint8_t {
    kHunting,
    kFirst,   // a pattern was found: its frame is being collected
    kSecond,  // the next one
    kAligned
  };

  void watch_signal(Bytes octets);
  void zeros(std::size_t run);
  std::size_t hunt(Bytes octets);
  std::size_t collect(Bytes octets);
  void complete(Bytes frame);
  void lose_alignment();
  void pass_time(std::size_t octets);

  const Geometry g_;
  FrameSink& sink_;
  Defects& defects_;
  SonetCounters& counters_;
  State state_ = State::kHunting;
  std::vector<std::byte> frame_;
  std::size_t used_ = 0;      // octets of frame_
  unsigned shift_ = 0;        // as bit_offset()
  std::byte carry_{};         // the last octet of the line, of which these are
  std::uint64_t window_ = 0;  // hunting: the last eight octets
  unsigned bad_ = 0;          // frames in a row with a wrong pattern
  std::uint64_t octets_ = 0;
  std::size_t zero_run_ = 0;      // octets of zeros up to here
  std::size_t out_of_frame_ = 0;  // octets since, of this and of earlier times not long ago
  std::size_t in_frame_ = 0;      // octets since
};

}  // namespace weft::wan::sonet
