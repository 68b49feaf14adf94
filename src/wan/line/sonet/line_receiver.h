// SPDX-License-Identifier: Apache-2.0
// The receiving end of a line, or multiplex section: frames in, octets of containers out. Parity,
// what the other end says of the line, pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "wan/line/octet_stream.h"
#include "wan/line/sonet/defects.h"
#include "wan/line/sonet/frame_aligner.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/pointer.h"
#include "wan/line/sonet/section.h"
#include "wan/line/sonet/sonet_counters.h"
#include "wan/line/sonet/vc_stream.h"

namespace weft::wan::sonet {

class LineReceiver final : public OctetSink, private FrameSink {
 public:
  // `trace` is what is expected in J0; nothing is where it has no format. All others outlive it.
  LineReceiver(Level level, const Trace& trace, VcSink& sink, Defects& defects,
               SonetCounters& counters);

  // Octets of the line.
  void take(Bytes octets) override { aligner_.take(octets); }
  void interrupted() override { aligner_.interrupted(); }
  void lose_signal() { aligner_.lose_signal(); }

  // For the transmitter beside it, which sends it.
  [[nodiscard]] FarEndReport take_report();
  [[nodiscard]] const FrameAligner& aligner() const { return aligner_; }
  [[nodiscard]] const PointerInterpreter& pointer() const { return pointer_; }
  // What J0 says.
  [[nodiscard]] std::string section_trace() const { return section_.trace().text(); }
  // Octets of containers in the part of the frame that has not been handed on yet.
  [[nodiscard]] std::size_t vc_octets_under_way() const;

 private:
  void frame(Bytes line) override;
  void alignment_lost() override;
  void check_parity(Bytes plain);
  void read_line_overhead(Bytes plain);
  void move_container(Bytes plain);
  void close();
  void hand_on(Bytes octets);

  const Geometry g_;
  VcSink& sink_;
  Defects& defects_;
  SonetCounters& counters_;
  FrameAligner aligner_;
  SectionReader section_;
  PointerInterpreter pointer_;
  SignalQuality quality_;
  std::optional<Parity> b2_;  // that the next frame is to have
  std::uint32_t errors_to_report_ = 0;
  bool open_ = false;         // it is known where containers are
  std::size_t skip_ = 0;      // octets until one begins
  std::size_t position_ = 0;  // in it, of the next octet
};

}  // namespace weft::wan::sonet
