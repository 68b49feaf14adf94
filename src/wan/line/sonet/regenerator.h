// SPDX-License-Identifier: Apache-2.0
// A regenerator in a line, one direction of it: the section ends here and another one begins, all
// else passes (G.783, 9). Where it has nothing to send on, it says so to whoever is next, by an
// AIS of the line.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "wan/line/octet_stream.h"
#include "wan/line/sonet/frame_aligner.h"
#include "wan/line/sonet/section.h"

namespace weft::wan::sonet {

class Regenerator final : public OctetSink, public OctetSource, private FrameSink {
 public:
  // Frames that may wait to be sent: the two sides need not take turns exactly. If what is taken is
  // more than what is asked for, for long, a frame is dropped now and then, and if it is less, an
  // AIS of one frame is sent: a regenerator takes its clock from the line.
  static constexpr std::size_t kMostFrames = 4;
  static constexpr std::size_t kFramesToBegin = 2;

  // `expected` of the section that ends here, `trace` of the one that begins.
  Regenerator(Level level, const Trace& expected, const Trace& trace);

  void take(Bytes octets) override { aligner_.take(octets); }
  void interrupted() override { aligner_.interrupted(); }
  void lose_signal() { aligner_.lose_signal(); }
  void fill(MutableBytes octets) override;

  // LOS, OOF, LOF and TIM-S.
  [[nodiscard]] const Defects& defects() const { return defects_; }
  [[nodiscard]] const SonetCounters& counters() const { return counters_; }

 private:
  void frame(Bytes line) override;
  void alignment_lost() override;
  void build();

  const Geometry g_;
  Defects defects_;
  SonetCounters counters_;
  FrameAligner aligner_;
  SectionReader reader_;
  SectionWriter writer_;
  std::deque<std::vector<std::byte>> waiting_;  // plain frames
  bool sends_on_ = false;
  std::vector<std::byte> plain_;
  std::vector<std::byte> line_;
  std::size_t given_ = 0;  // octets of line_
};

}  // namespace weft::wan::sonet
