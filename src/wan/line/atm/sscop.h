// SPDX-License-Identifier: Apache-2.0
// Messages in order, each once, over a connection that loses PDUs (ITU-T Q.2110): each is numbered,
// the sender asks from time to time what has come (POLL), and sends again what the answer (STAT)
// says is missing, or what the receiver misses at once (USTAT). Who is not answered at all gives
// up.
//
// A subset: what is found wrong ends the connection, where the standard has a recovery that keeps
// it (RS and ER of the other end are answered); there is no idle phase, an idle connection is asked
// for by POLL as a waiting one is, only less often; users have nothing to say in BGN, END and the
// like. docs/wan-atm.md has the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "wan/line/atm/sscop_pdu.h"

namespace weft::wan::atm {

enum class SscopCounter : std::uint8_t {
  kSent,
  kSentAgain,
  kReceived,
  kRepeated,
  kBeyondWindow,
  kMalformed,
  kUnexpected,
  kGivenUp,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SscopCounter::kCount)>
    kSscopCounters{{
        {"sscop_sent", "messages sent"},
        {"sscop_sent_again", "times a message was sent again"},
        {"sscop_received", "messages received, in order"},
        {"sscop_repeated", "messages that came more than once"},
        {"sscop_beyond_window", "messages that came though there was no room for them"},
        {"sscop_malformed", "PDUs that cannot be"},
        {"sscop_unexpected", "PDUs that cannot be in this state"},
        {"sscop_given_up",
         "connections that ended because the other end did not answer or was wrong"},
    }};

using SscopCounters = CounterSet<SscopCounter, kSscopCounters>;

// Values of Q.2130 for signalling between a user and a network.
struct SscopOptions {
  Duration control = 1s;              // Timer_CC: BGN and END are repeated
  unsigned most_controls = 4;         // MaxCC
  Duration poll = 750ms;              // Timer_POLL: while messages are under way
  Duration keep_alive = 2s;           // Timer_KEEP-ALIVE: while none is
  Duration no_response = 7s;          // Timer_NO-RESPONSE
  unsigned most_unpolled = 25;        // MaxPD: SDs between two POLLs
  std::uint32_t window = 32;          // messages that may be under way to here, 1 to kMostWindow
  std::uint8_t first_connection = 0;  // other than the one before, where an end begins anew
};

class SscopUser {
 public:
  virtual ~SscopUser() = default;
  // Nothing that was sent before is under way any more.
  virtual void established(Time now) = 0;
  virtual void released(Time now) = 0;
  virtual void message(Bytes message, Time now) = 0;
};

enum class SscopState : std::uint8_t { kIdle = 1, kOutgoing = 2, kEnding = 4, kReady = 10 };

class Sscop {
 public:
  static constexpr std::uint32_t kMostWindow = 64;  // so that one STAT has room for any list
  static constexpr std::size_t kMostWaiting = 256;
  static constexpr std::size_t kMostMessage = 4096;  // k of Q.2130

  Sscop(const SscopOptions& options, SscopUser& user);

  // Does nothing where it is or begins already.
  void establish(Time now);
  void release(Time now);
  // False: there is no connection, too many wait, or it is longer than kMostMessage.
  [[nodiscard]] bool send(Bytes message, Time now);

  void receive(Bytes pdu, Time now);
  void advance(Time now);
  [[nodiscard]] Time next_deadline() const;
  // What is to go, once; empty: nothing. It stays until the next call.
  [[nodiscard]] Bytes next_pdu();

  [[nodiscard]] SscopState state() const { return state_; }
  // Messages that the other end has not said it has.
  [[nodiscard]] std::size_t under_way() const { return sent_.size() + waiting_.size(); }
  [[nodiscard]] const SscopCounters& counters() const { return counters_; }

 private:
  using Message = std::vector<std::byte>;
  struct Sent {
    Message message;
    std::uint32_t poll = 0;  // of the latest POLL when it was sent
    bool again = false;
  };

  void put(const SscopPdu& pdu);
  void put_begin();
  void clear();
  void ready(Time now);
  void end_locally(Time now);
  void fail(Time now);
  void push(Time now);
  void put_data(std::uint32_t number, Sent& sent, Time now);
  void put_poll(Time now);
  void begin_received(const SscopPdu& pdu, Time now);
  void control_received(const SscopPdu& pdu, Time now);
  void transfer_received(const SscopPdu& pdu, Time now);
  void data_received(const SscopPdu& pdu, Time now);
  void poll_received(const SscopPdu& pdu, Time now);
  void status_received(const SscopPdu& pdu, Time now);
  [[nodiscard]] bool take_acknowledgement(const SscopPdu& pdu);
  [[nodiscard]] bool mark_missing(const SscopPdu& pdu);
  [[nodiscard]] std::vector<std::uint32_t> missing() const;
  [[nodiscard]] std::uint32_t ahead(std::uint32_t number, std::uint32_t of) const;

  const SscopOptions options_;
  SscopUser& user_;
  SscopState state_ = SscopState::kIdle;
  std::uint8_t own_connection_;                   // VT(SQ)
  std::optional<std::uint8_t> other_connection_;  // VR(SQ)
  unsigned controls_ = 0;                         // VT(CC)
  Time control_at_{};

  std::uint32_t sent_from_ = 0;    // VT(A); sent_ begins with it, VT(S) is behind it
  std::uint32_t may_send_to_ = 0;  // VT(MS)
  std::uint32_t poll_ = 0;         // VT(PS)
  std::uint32_t polled_ = 0;       // VT(PA)
  unsigned unpolled_ = 0;          // VT(PD)
  Time poll_at_{};
  Time give_up_at_{};
  std::deque<Sent> sent_;
  std::deque<Message> waiting_;

  std::uint32_t next_ = 0;                   // VR(R)
  std::uint32_t highest_ = 0;                // VR(H)
  std::deque<std::optional<Message>> came_;  // from next_ on

  std::deque<Message> out_;
  Message leaving_;
  SscopCounters counters_;
};

}  // namespace weft::wan::atm
