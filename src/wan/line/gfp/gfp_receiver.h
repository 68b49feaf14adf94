// SPDX-License-Identifier: Apache-2.0
// Where frames begin in a stream of octets (ITU-T G.7041, 6.3.1):
//
//   kHunt     octet by octet, until four of them are a right core header
//   kPresync  from header to header, as PLI says: a wrong one leads back to kHunt, `delta` right
//             ones in a row to kSync
//   kSync     the same, with one wrong bit of a header put right; two lead back to kHunt
//
// Only what comes in kSync is handed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wan/line/gfp/gfp_counters.h"
#include "wan/line/gfp/gfp_options.h"
#include "wan/line/octet_stream.h"
#include "wan/line/payload_scrambler.h"

namespace weft::wan {

// Who is told what client management frames say.
class GfpManagementSink {
 public:
  virtual ~GfpManagementSink() = default;
  virtual void managed(GfpManagement what) = 0;
};

class GfpReceiver final : public OctetSink {
 public:
  enum class State : std::uint8_t { kHunt, kPresync, kSync };

  // `packets` outlives it.
  GfpReceiver(const GfpOptions& options, PacketSink& packets);
  // None, or one that outlives it.
  void set_management(GfpManagementSink* sink) { management_ = sink; }

  void take(Bytes octets) override;
  void interrupted() override;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const GfpReceiveCounters& counters() const { return counters_; }

 private:
  [[nodiscard]] Bytes hunt(Bytes octets);
  [[nodiscard]] Bytes read_header(Bytes octets);
  [[nodiscard]] Bytes skip_idle(Bytes octets);
  [[nodiscard]] Bytes read_payload(Bytes octets);
  void header_read();
  void begin_payload(std::uint16_t pli);
  void lose_sync();
  void frame_read();
  [[nodiscard]] GfpReceiveCounter judge(const GfpType& type, Bytes area);
  [[nodiscard]] GfpReceiveCounter judge_data(const GfpType& type, Bytes area);
  [[nodiscard]] GfpReceiveCounter judge_management(const GfpType& type, Bytes area);
  void count(GfpReceiveCounter what) { counters_.add_in_turn(what); }

  const GfpOptions options_;
  PacketSink& packets_;
  GfpManagementSink* management_ = nullptr;
  State state_ = State::kHunt;
  unsigned confirmed_ = 0;      // right headers after the first one, in kPresync
  std::uint32_t window_ = 0;    // the last octets, in kHunt; of the header, in the others
  unsigned window_octets_ = 0;  // that are in it, up to 4
  bool in_payload_ = false;
  std::size_t area_octets_ = 0;  // of the present payload area
  std::size_t area_read_ = 0;
  std::vector<std::byte> area_;  // descrambled
  PayloadDescrambler descrambler_;
  // The descrambler has what the scrambler had: both began with zeros and nothing was passed over,
  // or the last 43 bits of payload came here too.
  bool descrambles_ = true;
  std::size_t heard_ = 0;  // octets of payload since something was passed over, up to 6
  bool area_descrambled_ = false;
  GfpReceiveCounters counters_;
};

}  // namespace weft::wan
