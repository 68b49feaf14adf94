// SPDX-License-Identifier: Apache-2.0
// The session of two ends of a tunnel: that they have found each other, agree, and hear each other.
//
//   kClosed --open()--> kGreeting --hello that names our number--> kUp
//                        ^   ^                                       |
//                        |   +---- silence, end of the peer ---------+
//                        +-- kRefused: as kGreeting, and why() says what does not fit
//
// Each end draws a number; a hello holds the sender's, and the receiver's as far as it is known. An
// end that hears its own number knows that the other one receives what it sends, and who it is. A
// peer that has begun anew has another number, and is believed when it names ours.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/entropy.h"
#include "base/time.h"
#include "wan/frame.h"

namespace weft::wan {

struct SessionOptions {
  TunnelMode mode = TunnelMode::kBridge;
  bool recovery = true;  // where the other end wants it too
  std::uint8_t data_vls = 15;
  FecCode fec{};  // the other end must have the same
  BlockSize block;
  std::array<std::uint64_t, kLanes> capacity{};  // blocks of the FIFOs
  std::uint32_t longest_frame = kLongestFrame;   // that is taken in
  Duration silence = 3s;                         // heard nothing for so long: the path is lost
  Duration hello_period = 250ms;
};

// What two ends have agreed on, as one of them sees it.
struct Agreement {
  bool recovery = false;
  FecCode fec{};
  BlockSize block;                               // that the other end counts in
  std::array<std::uint64_t, kLanes> capacity{};  // of its FIFOs; 0: no such lane
  std::uint32_t longest_frame = kLeastFrame;     // that the other end takes
  Duration silence = 3s;                         // it gives up after
  std::uint32_t receive_room = 0;                // that it has told of: Hello::receive_room
  bool options = false;                          // it takes credit beside frames: Hello::options
  bool groups = false;                           // it takes packets in groups: Hello::groups
};

class Session {
 public:
  enum class State : std::uint8_t { kClosed, kGreeting, kRefused, kUp };
  // What has come of a call.
  enum class Event : std::uint8_t {
    kNone,
    kUp,
    kSilent,     // was up, heard nothing
    kEnded,      // was up, and ended by either end
    kRestarted,  // was up, and is up with a peer that has begun anew: everything begins anew
    kRefused,
  };

  Session(const SessionOptions& options, Entropy& entropy) : options_(options), entropy_(entropy) {}

  // The path may carry frames; it does not any more.
  Event open(Time now);
  Event close();

  // A hello; `named`: the number that it takes for ours; `refusal`: why its sender, who says so
  // beside it, will not have a session with that one.
  Event hear(const Hello& hello, std::uint64_t named, Time now,
             std::optional<Refusal> refusal = std::nullopt);
  // A frame of another version of the format.
  Event hear_other_version();
  // It ends this session: its frame had receive_epoch().
  Event hear_end(Time now);
  // Traffic of this session.
  void heard(Time now) {
    heard_at_ = now;
    confirmed_ = true;
  }
  Event expire(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // A hello is to be sent, in a frame that names named(), which is asked for first. With why_not(),
  // a refusal too.
  [[nodiscard]] bool hello_due() const { return hello_due_; }
  [[nodiscard]] Hello hello(Time now);
  [[nodiscard]] std::uint64_t named() const { return stranger_.value_or(peer_); }
  [[nodiscard]] std::optional<Refusal> why_not() const { return refusal_to_send_; }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool up() const { return state_ == State::kUp; }
  // While it is up.
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] std::uint64_t send_epoch() const { return frame_epoch(peer_, own_); }
  [[nodiscard]] std::uint64_t receive_epoch() const { return frame_epoch(own_, peer_); }
  // One line for a person: why there is no session; empty where there is one, or nobody answers.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  [[nodiscard]] std::optional<Refusal> mismatch(const Hello& hello) const;
  [[nodiscard]] std::string explain(Refusal why, const Hello* hello) const;
  void greet(Time now);
  Event refuse(Refusal why, const Hello& hello);
  Event be_refused(Refusal why);
  void agree(const Hello& hello, Time now);

  const SessionOptions options_;
  Entropy& entropy_;
  State state_ = State::kClosed;
  std::uint64_t own_ = 0;
  std::uint64_t peer_ = 0;                 // while not up: the last that was heard
  std::optional<std::uint64_t> stranger_;  // the next hello is for this one
  Agreement agreement_;
  bool confirmed_ = false;  // the other end is up too: traffic has come
  bool hello_due_ = false;
  std::optional<Refusal> refusal_to_send_;
  Time next_hello_{};
  Time heard_at_{};
  std::string why_;
};

}  // namespace weft::wan
