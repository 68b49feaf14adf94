// SPDX-License-Identifier: Apache-2.0
// A bad network on purpose: what arrives is lost, duplicated, reordered, delayed or corrupted, the
// same way each time for one seed, so that programs can be tested under it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "io/udp_socket.h"

namespace weft::port {

struct FaultConfig {
  double loss = 0;  // probabilities, 0 to 1, for each datagram that arrives
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;
  Duration delay{};  // of every datagram
  std::uint64_t seed = 1;

  [[nodiscard]] bool any() const {
    return loss > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 || delay > Duration::zero();
  }
  friend bool operator==(const FaultConfig&, const FaultConfig&) = default;
};

// How parse_faults() wants it: "loss=1%,delay=2ms,seed=7".
inline constexpr std::string_view kFaultSyntax =
    "a list such as loss=1%,duplicate=0.5%,reorder=1%,corrupt=0.1%,delay=2ms,seed=7";

// EINVAL with a message that names the key or the value that is wrong, and the choices.
Expected<FaultConfig> parse_faults(std::string_view text);

// A datagram on the faulty line, and what the socket said of it.
struct FaultyFrame {
  Bytes bytes;
  io::ReceivedDatagram about;    // of this datagram alone: never a run
  std::uint16_t local_port = 0;  // UDP port that it came to; on a fabric, the adapter's port
};

// What became of datagrams.
struct FaultTally {
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t overflowed = 0;  // too much was being held
};

// The end of a line with faults. The n-th datagram to arrive meets the same fate each time,
// whatever it holds. No I/O and no clock.
class FaultyLine {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void frame(const FaultyFrame& frame) = 0;
  };

  FaultyLine(const FaultConfig& config, Random random) : config_(config), random_(random) {}

  // A datagram arrived: hands it on, or keeps it for later, or not. Changes its bytes when it
  // corrupts them.
  void arrive(const FaultyFrame& frame, MutableBytes bytes, Time now, Sink& sink);
  // Hands on what has been kept until `now`.
  void release(Time now, Sink& sink);
  // When there is something to release next.
  [[nodiscard]] std::optional<Time> deadline() const;

  // What happened since the last call.
  FaultTally take_tally() { return std::exchange(tally_, {}); }

 private:
  static constexpr std::size_t kMostHeld = 16u << 20;  // bytes
  static constexpr std::uint64_t kMostOvertakers = 8;
  static constexpr Duration kReorderTime = 1ms;  // the longest wait for overtakers

  struct Fate {
    bool twice = false;
    std::uint64_t overtakers = 0;  // so many pass it first; 0: it keeps its place
  };
  struct Held {
    std::vector<std::byte> bytes;
    FaultyFrame frame;  // refers to `bytes`
    Fate fate;
    Time due{};               // on the delayed line, or when it no longer waits for overtakers
    std::uint64_t after = 0;  // passes once so many have passed
  };

  [[nodiscard]] std::optional<Held> hold(const FaultyFrame& frame, Fate fate, Time due);
  void pass(const FaultyFrame& frame, Fate fate, Time now, Sink& sink);
  void hand_on(const FaultyFrame& frame, Fate fate, Sink& sink);
  template <class Ready>
  void let_go(Ready ready, Sink& sink);

  FaultConfig config_;
  Random random_;
  std::deque<Held> delayed_;     // in order of `due`
  std::vector<Held> overtaken_;  // in order of arrival
  std::size_t held_bytes_ = 0;
  std::uint64_t passed_ = 0;
  FaultTally tally_;
};

}  // namespace weft::port
