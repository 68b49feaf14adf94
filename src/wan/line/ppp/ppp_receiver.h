// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "wan/line/octet_stream.h"
#include "wan/line/ppp/framing_counters.h"
#include "wan/line/ppp/ppp_frame.h"

namespace weft::wan {

// Finds frames between flags (RFC 1662, 4). In step from the first flag on: whatever has happened,
// the frame after the next flag is understood.
class PppReceiver final : public OctetSink {
 public:
  // `frames` outlives it. `longest`: octets of information that are taken in, at most 65,535.
  PppReceiver(PppFcs fcs, std::size_t longest, PppFrameSink& frames);

  void take(Bytes octets) override;
  void interrupted() override;

  [[nodiscard]] const PppReceiveCounters& counters() const { return counters_; }

 private:
  void end_frame();
  [[nodiscard]] PppReceiveCounter judge(Bytes frame);
  void begin_frame();

  const PppFcs fcs_;
  PppFrameSink& frames_;
  bool in_step_ = false;  // a flag has come
  bool escaped_ = false;  // a 7D has come
  bool too_long_ = false;
  bool empty_ = true;  // nothing has come since the flag
  std::size_t used_ = 0;
  std::vector<std::byte> frame_;
  PppReceiveCounters counters_;
};

}  // namespace weft::wan
