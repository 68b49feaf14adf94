// SPDX-License-Identifier: Apache-2.0
// Takes payloads out of containers, and what their overhead says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wan/line/octet_stream.h"
#include "wan/line/sonet/defects.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/sonet_counters.h"
#include "wan/line/sonet/trace.h"
#include "wan/line/sonet/vc_stream.h"

namespace weft::wan::sonet {

class PathReceiver final : public VcSink {
 public:
  // `trace` and `label` are expected in J1 and C2; a trace without format is not looked at, nor is
  // a label of 01. All others outlive it.
  PathReceiver(Level level, const Trace& trace, std::uint8_t label, OctetSink& payload,
               Defects& defects, SonetCounters& counters);

  void take(Bytes octets, std::size_t position) override;
  void interrupted() override;

  // For the transmitter beside it, which sends it.
  [[nodiscard]] FarEndReport take_report();
  // What J1 and C2 say.
  [[nodiscard]] std::string trace() const { return trace_.text(); }
  [[nodiscard]] std::uint8_t label() const { return label_; }

 private:
  void begin_container();
  void read_overhead(std::size_t row, std::byte octet);
  void check_parity(std::byte b3);
  void hand_on(Bytes octets);

  const Geometry g_;
  const std::uint8_t expected_label_;
  OctetSink& payload_;
  Defects& defects_;
  SonetCounters& counters_;
  TraceReceiver trace_;
  std::uint8_t label_ = 0;
  std::byte parity_{};     // of this container so far
  std::byte b3_{};         // that this container is to have
  bool is_whole_ = false;  // this container has been seen from its beginning
  bool has_b3_ = false;    // the one before was seen as a whole
  std::uint32_t errors_to_report_ = 0;
  bool hands_on_ = false;  // payload has been handed on, and what comes follows it
};

}  // namespace weft::wan::sonet
