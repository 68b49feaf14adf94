// SPDX-License-Identifier: Apache-2.0
// An end of a path over one line: a payload of octets into the octets of a line, and back. As the
// line's session it says whether both directions work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "wan/line/line_session.h"
#include "wan/line/octet_stream.h"
#include "wan/line/sonet/defects.h"
#include "wan/line/sonet/line_receiver.h"
#include "wan/line/sonet/line_transmitter.h"
#include "wan/line/sonet/overhead.h"
#include "wan/line/sonet/path_receiver.h"
#include "wan/line/sonet/path_transmitter.h"
#include "wan/line/sonet/sonet_counters.h"
#include "wan/line/sonet/trace.h"

namespace weft::wan::sonet {

struct TerminalOptions {
  Level level = Level::kStm64;
  // Pointers of SDH have SS = 10; those of SONET 00. Nobody looks at it.
  bool sdh = true;
  // C2 of containers sent, and expected.
  std::uint8_t label = label::kPpp;
  // Sent, and expected, in J0 and J1; without a format, nothing is.
  Trace section_trace{};
  Trace path_trace{};
  Trace expected_section_trace{};
  Trace expected_path_trace{};
  // Where containers begin; below kPointers.
  std::uint16_t pointer = kAlignedPointer;
  // A line without an octet for so long has no signal. More than a stutter of whoever has the line.
  Duration silence = 100ms;
};

class Terminal final : public OctetSource, public OctetSink, public LineSession {
 public:
  // Both outlive it. `payload` is asked for as much as the path carries; `sink` gets what comes
  // while no defect stands that forbids it.
  Terminal(const TerminalOptions& options, OctetSource& payload, OctetSink& sink);

  // Octets for the line.
  void fill(MutableBytes octets) override { transmitter_.fill(octets); }
  // Octets of the line.
  void take(Bytes octets) override { receiver_.take(octets); }
  void interrupted() override { receiver_.interrupted(); }
  // There is nothing on the line.
  void lose_signal() { receiver_.lose_signal(); }

  // No defect stands that makes it useless, and the other end says the same.
  [[nodiscard]] bool up() const override;
  [[nodiscard]] Time next_deadline() const override;
  void advance(Time now) override;

  [[nodiscard]] const Defects& defects() const { return defects_; }
  [[nodiscard]] const SonetCounters& counters() const { return counters_; }
  [[nodiscard]] const LineReceiver& receiver() const { return receiver_; }
  [[nodiscard]] const PathReceiver& path() const { return path_receiver_; }
  // The last frame that was begun, not scrambled: for explain().
  [[nodiscard]] Bytes frame_sent() const { return transmitter_.plain(); }

 private:
  const Duration silence_;
  Defects defects_;
  SonetCounters counters_;
  PathReceiver path_receiver_;
  LineReceiver receiver_;
  PathTransmitter path_transmitter_;
  LineTransmitter transmitter_;
  std::uint64_t octets_heard_ = 0;  // by the last advance()
  Time heard_{};                    // when that was more than before
  bool listens_ = false;            // advance() has been called
};

}  // namespace weft::wan::sonet
