// SPDX-License-Identifier: Apache-2.0
// Whether there is another end on a line of 64b/66b blocks: they are locked onto, not too many are
// bad, and there is neither a local nor a remote fault, for a moment at least, so that a line that
// is coming up does not flap.
#pragma once

#include "wan/line/line_session.h"
#include "wan/line/pcs/frame_transmitter.h"
#include "wan/line/pcs/pcs_receiver.h"
#include "wan/line/pcs/xgmii_receiver.h"

namespace weft::wan {

class PcsSession final : public LineSession {
 public:
  struct Options {
    Duration settle = 10ms;    // without a fault until it is up
    Duration silence = 100ms;  // without a block until nobody is there: lines do not stop
  };

  // All outlive this.
  PcsSession(const Options& options, const PcsReceiver& blocks, const XgmiiReceiver& lanes,
             FrameTransmitter& sender)
      : options_(options), blocks_(blocks), lanes_(lanes), sender_(sender) {}
  PcsSession(const PcsSession&) = delete;
  PcsSession& operator=(const PcsSession&) = delete;

  [[nodiscard]] bool up() const override { return up_; }
  [[nodiscard]] Time next_deadline() const override;
  // Tells the transmitter too what the receiver says of the line.
  void advance(Time now) override;

 private:
  const Options options_;
  const PcsReceiver& blocks_;
  const XgmiiReceiver& lanes_;
  FrameTransmitter& sender_;
  bool up_ = false;
  bool begun_ = false;
  bool good_ = false;
  std::uint64_t seen_ = 0;  // blocks
  Time heard_at_{};
  Time good_since_{};
};

}  // namespace weft::wan
