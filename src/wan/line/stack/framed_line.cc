// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "wan/line/scrambled_payload.h"
#include "wan/line/sonet/terminal.h"
#include "wan/line/stack/line_parts.h"

namespace weft::wan {
namespace {

// Up when both the frames and what they carry are.
class BothSessions final : public LineSession {
 public:
  BothSessions(LineSession& outer, LineSession& inner) : outer_(outer), inner_(inner) {}

  [[nodiscard]] bool up() const override { return outer_.up() && inner_.up(); }
  [[nodiscard]] Time next_deadline() const override {
    return std::min(outer_.next_deadline(), inner_.next_deadline());
  }
  void advance(Time now) override {
    outer_.advance(now);
    inner_.set_line(outer_.up());
    inner_.advance(now);
  }
  void set_line(bool present) override { outer_.set_line(present); }
  void end(Time now) override { inner_.end(now); }
  [[nodiscard]] bool ended() const override { return inner_.ended(); }

 private:
  LineSession& outer_;
  LineSession& inner_;
};

sonet::TerminalOptions terminal_options(const Framing& framing) {
  sonet::TerminalOptions options;
  options.level = framing.level;
  options.label = framing.label;
  options.silence = kLineSilence;
  return options;
}

class FramedLine final : public Line {
 public:
  FramedLine(const Framing& framing, std::unique_ptr<Line> payload)
      : payload_(std::move(payload)),
        scrambled_out_(payload_->out()),
        scrambled_in_(payload_->in()),
        terminal_(terminal_options(framing),
                  framing.scrambled ? static_cast<OctetSource&>(scrambled_out_) : payload_->out(),
                  framing.scrambled ? static_cast<OctetSink&>(scrambled_in_) : payload_->in()),
        session_(terminal_, payload_->session()) {}

  OctetSource& out() override { return terminal_; }
  OctetSink& in() override { return terminal_; }
  LineSession& session() override { return session_; }
  [[nodiscard]] std::size_t longest_packet() const override { return payload_->longest_packet(); }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = terminal_.counters().snapshot();
    accumulate(out, payload_->counters());
    return out;
  }

 private:
  const std::unique_ptr<Line> payload_;
  ScrambledPayloadSource scrambled_out_;
  ScrambledPayloadSink scrambled_in_;
  sonet::Terminal terminal_;
  BothSessions session_;
};

}  // namespace

std::unique_ptr<Line> make_framed_line(const Framing& framing, std::unique_ptr<Line> payload) {
  return std::make_unique<FramedLine>(framing, std::move(payload));
}

}  // namespace weft::wan
