// SPDX-License-Identifier: Apache-2.0
// One side of the signalling between a user and its network (ITU-T Q.2931): sets calls up and
// releases them, by messages over SSCOP. Which calls there are to be is its owner's matter, a
// station that wants a connection or a switch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/counters.h"
#include "base/time.h"
#include "wan/line/atm/call_table.h"
#include "wan/line/atm/signalling_message.h"
#include "wan/line/atm/sscop.h"

namespace weft::wan::atm {

enum class CallCounter : std::uint8_t {
  kPlaced,
  kCame,
  kConnected,
  kReleased,
  kTimedOut,
  kRefused,
  kMessages,
  kBadMessages,
  kUnexpected,
  kUnsent,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(CallCounter::kCount)>
    kCallCounters{{
        {"calls_placed", "calls that this side began"},
        {"calls_came", "calls that the other side began"},
        {"calls_connected", "calls that became active"},
        {"calls_released", "calls that ended"},
        {"call_timers_ran_off", "times a timer of a call ran off"},
        {"calls_impossible", "calls refused: too many there, or what came cannot be"},
        {"signalling_messages", "messages received"},
        {"signalling_bad_messages", "messages that cannot be, or lack what they must have"},
        {"signalling_unexpected", "messages that cannot be in the state that the call was in"},
        {"signalling_unsent",
         "messages that could not be sent: no signalling link, or too many waited"},
    }};

using CallCounters = CounterSet<CallCounter, kCallCounters>;

// A call at one interface.
struct CallId {
  std::uint32_t value = 0;
  bool placed_here = false;  // the value is this side's choice
  friend auto operator<=>(const CallId&, const CallId&) = default;
};

class CallOwner {
 public:
  virtual ~CallOwner() = default;
  // The link is there, or not any more; calls that are active may outlive it.
  virtual void link_changed(bool up, Time now) = 0;
  // The other side asks for a connection: proceed(), connect() or release() it, now or later.
  virtual void call_came(const CallId& call, const SignallingMessage& setup, Time now) = 0;
  virtual void call_connected(const CallId& call, const Channel& channel, Time now) = 0;
  // Ended, whoever wanted it; not told of those that were released here.
  virtual void call_ended(const CallId& call, Cause cause, Time now) = 0;
};

struct SignallingOptions {
  Side side = Side::kUser;
  SscopOptions sscop{};
  CallTimes times{};
  std::size_t most_calls = 64;
};

class SignallingEnd final : public SscopUser {
 public:
  SignallingEnd(const SignallingOptions& options, CallOwner& owner);

  // --- the link --------------------------------------------------------------------------------
  void establish(Time now) { sscop_.establish(now); }
  void release_link(Time now) { sscop_.release(now); }
  [[nodiscard]] bool link_up() const { return sscop_.state() == SscopState::kReady; }
  void receive(Bytes pdu, Time now) { sscop_.receive(pdu, now); }
  // As Sscop::next_pdu().
  [[nodiscard]] Bytes next_pdu() { return sscop_.next_pdu(); }

  // --- calls -----------------------------------------------------------------------------------
  // Nothing: there is no link, or there are too many calls. `setup` has what a SETUP must have.
  [[nodiscard]] std::optional<CallId> place(SignallingMessage setup, Time now);
  // Of a call that came: it is being worked on, with this connection if it is known.
  void proceed(const CallId& call, const std::optional<Channel>& channel, Time now);
  // Of a call that came: it is accepted.
  void connect(const CallId& call, const std::optional<Channel>& channel, Time now);
  void release(const CallId& call, Cause cause, Time now);
  // All calls of the interface end, at both sides.
  void restart(Time now);
  // Asks the other side whether it has the call as well.
  void enquire(const CallId& call, Time now);

  [[nodiscard]] CallState state(const CallId& call) const;
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  [[nodiscard]] const CallCounters& counters() const { return counters_; }
  [[nodiscard]] const SscopCounters& link_counters() const { return sscop_.counters(); }

  void advance(Time now);
  [[nodiscard]] Time next_deadline() const;

  // --- of SSCOP --------------------------------------------------------------------------------
  void established(Time now) override;
  void released(Time now) override;
  void message(Bytes bytes, Time now) override;

 private:
  struct Call {
    CallState state = CallState::kNull;
    std::optional<Channel> channel;
    SignallingMessage last;  // what is sent again
    Time due = Time::max();  // of the state's timer
    bool repeated = false;
    Time enquiry_due = Time::max();
    bool enquired_again = false;
  };
  using Calls = std::map<CallId, Call>;

  void send(SignallingMessage message, const CallId& call, Time now);
  void enter(Call& call, CallState state, Time now);
  void end(Calls::iterator call, Cause cause, Time now);
  void end_all(Cause cause, bool active_too, Time now);
  void ask(const CallId& id, Call& call, Time now);
  void timer_ran_off(Calls::iterator call, Time now);
  void enquiry_ran_off(Calls::iterator call, Time now);
  void refuse(const CallId& call, Cause cause, Time now);
  void bad_message(const BadMessage& bad, Time now);
  void global_message(const SignallingMessage& message, Time now);
  void unknown_call(const CallId& id, const SignallingMessage& message, Time now);
  void setup_came(const CallId& id, const SignallingMessage& message, Time now);
  void known_call(Calls::iterator call, const SignallingMessage& message, Time now);
  void status_came(Calls::iterator call, const SignallingMessage& message, Time now);
  void act(Calls::iterator call, const CallRow& row, const SignallingMessage& message, Time now);

  const SignallingOptions options_;
  CallOwner& owner_;
  Sscop sscop_;
  Calls calls_;
  std::uint32_t next_value_ = 1;
  Time link_lost_due_ = Time::max();  // T309
  Time restart_due_ = Time::max();    // T316
  bool restarted_again_ = false;
  CallCounters counters_;
};

}  // namespace weft::wan::atm
