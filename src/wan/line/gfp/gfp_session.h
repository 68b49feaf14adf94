// SPDX-License-Identifier: Apache-2.0
// Whether a line in GFP leads to another end. GFP has no handshake: what there is are frames that
// can be delineated, and client management frames, by which either end says what it lacks.
//
//   it sends        while                                         else, four times
//   loss of signal  the client here is not there (set_client)     defect clear
//   reverse defect  this end is not in step, or has been told of  defect clear
//                   a forward defect or of loss of the client
//
// So a line is up when this end is in step, and the other end has said for `clear_after` that it
// lacks nothing, or has said once that its defect is clear. It goes down when the other end says
// what it lacks, and when this one has been out of step for `hold`. A line that is looped back is
// up: GFP cannot tell; the session of the tunnel above can.
#pragma once

#include <optional>

#include "base/time.h"
#include "wan/line/gfp/gfp_receiver.h"
#include "wan/line/gfp/gfp_transmitter.h"
#include "wan/line/line_session.h"

namespace weft::wan {

struct GfpSessionOptions {
  Duration period = 100ms;    // of what is sent as long as it is so
  Duration clear_after = 3s;  // without another one, what was told is over
  Duration hold = 50ms;       // out of step for less is no defect: a line that is switched over
};

class GfpSession final : public LineSession, private GfpManagementSink {
 public:
  // Both outlive it; it is told of management frames from here on.
  GfpSession(const GfpSessionOptions& options, GfpReceiver& receiver, GfpTransmitter& transmitter);
  ~GfpSession() override { receiver_.set_management(nullptr); }
  GfpSession(const GfpSession&) = delete;
  GfpSession& operator=(const GfpSession&) = delete;

  // Whether there is anything here to be carried; from the next advance() on.
  void set_client(bool present) { client_ = present; }
  // While nothing comes, this end is out of step without a hold.
  void set_line(bool present) override { line_ = present; }

  [[nodiscard]] bool up() const override { return up_; }
  [[nodiscard]] Time next_deadline() const override;
  void advance(Time now) override;

  // What the other end lacks, as far as it has said.
  [[nodiscard]] std::optional<GfpManagement> remote_defect() const { return told_; }

 private:
  void managed(GfpManagement what) override;
  void hear(Time now);
  void follow_step(Time now);
  void say(Time now);
  [[nodiscard]] std::optional<GfpManagement> own_defect() const;

  const GfpSessionOptions options_;
  GfpReceiver& receiver_;
  GfpTransmitter& transmitter_;
  bool client_ = true;
  bool line_ = true;
  bool up_ = false;
  bool in_step_ = false;  // with `hold` taken into account
  std::optional<Time> out_since_;
  std::optional<GfpManagement> came_;                                  // since the last advance()
  std::optional<GfpManagement> told_ = GfpManagement::kReverseDefect;  // until it is known better
  std::optional<Time> told_until_;
  bool answers_ = false;
  // Before anything was said, the other end takes it that this one is not in step.
  std::optional<GfpManagement> said_ = GfpManagement::kReverseDefect;
  unsigned clears_left_ = 0;
  Time say_next_{};
};

}  // namespace weft::wan
