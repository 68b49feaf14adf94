// SPDX-License-Identifier: Apache-2.0
// One protocol by which two ends agree on options (RFC 1661, 4): LCP, or a network control
// protocol. It runs the table of control_table.h; what the options are, a ControlPolicy knows. Of
// the actions, tls and tlf are for who has to dial: here, whoever wants to know looks at state().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "wan/line/ppp/control_packet.h"
#include "wan/line/ppp/control_table.h"
#include "wan/line/ppp/ppp_frame.h"
#include "wan/line/ppp/session_counters.h"

namespace weft::wan {

// RFC 1661, 4.6.
struct ControlTimes {
  Duration restart = 3s;  // without an answer, ask again
  unsigned max_configure = 10;
  unsigned max_terminate = 2;
  unsigned max_failure = 5;  // Configure-Naks in a row; then rejects
};

// The options of one protocol.
class ControlPolicy {
 public:
  virtual ~ControlPolicy() = default;

  // Of the next Configure-Request.
  [[nodiscard]] virtual std::vector<std::byte> request() = 0;

  struct Verdict {
    std::vector<std::byte> rejected;  // as they were
    std::vector<std::byte> wished;    // instead of some that were asked for
  };
  // Of the other end's request. `patient`: it may be told what is wished; else that is rejected.
  [[nodiscard]] virtual Verdict judge(Bytes options, bool patient) = 0;
  // The other end has these from now on: nothing was wrong with them.
  virtual void agreed(Bytes options) = 0;
  // The other end wishes these instead of some of request(), or will have none of these.
  virtual void wished(Bytes options) = 0;
  virtual void rejected(Bytes options) = 0;

  // This protocol is agreed on; it is not any more.
  virtual void layer_up(Time now) = 0;
  virtual void layer_down() = 0;

  // Codes beyond Code-Reject: what one means as an event; none: it is not known here.
  [[nodiscard]] virtual std::optional<ControlEvent> other(const ControlPacket&) {
    return std::nullopt;
  }
  // One of those that came while opened.
  virtual void answer(const ControlPacket&) {}
};

// Where packets go.
class ControlLine {
 public:
  virtual ~ControlLine() = default;
  virtual void send(PppProtocol protocol, const ControlPacket& packet) = 0;
};

class ControlProtocol {
 public:
  // All but the times outlive it.
  ControlProtocol(PppProtocol protocol, const ControlTimes& times, ControlPolicy& policy,
                  ControlLine& line, PppCounters& counters)
      : protocol_(protocol), times_(times), policy_(policy), line_(line), counters_(counters) {}

  // kUp, kDown, kOpen, kClose, and what the policy finds out by itself.
  void happen(ControlEvent event, Time now);
  void receive(const ControlPacket& packet, Time now);
  // Its restart timer; Time::max(): none.
  [[nodiscard]] Time deadline() const { return timer_.value_or(Time::max()); }
  void run(Time now);

  [[nodiscard]] ControlState state() const { return state_; }
  [[nodiscard]] bool opened() const { return state_ == ControlState::kOpened; }
  [[nodiscard]] PppProtocol protocol() const { return protocol_; }
  [[nodiscard]] std::uint8_t next_identifier() { return ++identifier_; }

 private:
  [[nodiscard]] std::optional<ControlEvent> event_of(const ControlPacket& packet);
  [[nodiscard]] std::optional<ControlEvent> judge_request(const ControlPacket& packet);
  [[nodiscard]] std::optional<ControlEvent> judge_answer(const ControlPacket& packet);
  void act(std::uint16_t actions, const ControlPacket& cause, Time now);
  void act_on_line(std::uint16_t actions, const ControlPacket& cause, Time now);
  void step(ControlEvent event, const ControlPacket& cause, Time now);

  const PppProtocol protocol_;
  const ControlTimes times_;
  ControlPolicy& policy_;
  ControlLine& line_;
  PppCounters& counters_;
  ControlState state_ = ControlState::kInitial;
  std::optional<Time> timer_;
  unsigned tries_ = 0;  // that are left
  unsigned naks_ = 0;   // sent in a row
  std::uint8_t identifier_ = 0;
  std::vector<std::byte> request_;  // the last one
  std::uint8_t request_identifier_ = 0;
  bool awaits_answer_ = false;  // it has not been answered
  ControlCode reply_code_{};
  std::vector<std::byte> reply_;  // to the present request
};

}  // namespace weft::wan
