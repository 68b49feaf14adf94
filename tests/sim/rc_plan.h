// SPDX-License-Identifier: Apache-2.0
// What two programs say to each other over some connections, and what their memory must hold when
// all is said: both made from a seed, before anything runs.
//
// Each end of a connection has areas of memory of its own, which only its peer's requests touch. So
// the outcome of everything but the shared atomics follows from the order of posting alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "hca/types.h"

namespace weft::sim::test {

struct PlanOptions {
  hca::QpType service = hca::QpType::kRc;
  std::size_t connections = 1;
  std::uint64_t messages = 60;     // of each end of each connection
  bool both_ways = true;           // else only the first end sends
  std::uint32_t mtu = 1024;        // sizes near its multiples are likely
  std::uint32_t longest = 6000;    // bytes of a usual message
  std::uint32_t longest_rare = 0;  // bytes of one in twenty; 0: none
  std::uint32_t max_pieces = 3;
  std::uint32_t max_inline = 64;
  bool reads = true;             // and atomics
  bool windows = false;          // memory windows of type 2, which both ends invalidate
  bool shared_receives = false;  // receives of one end are equal and in no order
  double signaled = 0.5;
};

struct Range {
  std::size_t offset = 0;
  std::size_t length = 0;
};

struct Operation {
  hca::SendOpcode opcode = hca::SendOpcode::kSend;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  bool inline_data = false;
  std::uint32_t immediate = 0;
  std::uint64_t length = 0;
  std::vector<Range> pieces;  // in the memory of the one who posts
  bool shared = false;        // the remote range is a shared word
  std::size_t remote = 0;     // offset in the memory of the peer's host
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  // Of the peer: what is written to or read, or invalidated. Of our own: what is bound or
  // invalidated. By their places in EndPlan::windows.
  std::optional<std::size_t> window{};
  // Not posted before so many messages have arrived, of which the last says that a window is bound.
  std::size_t after_arrivals = 0;
};

// What completes a receive request at the other end.
struct Arrival {
  hca::CompletionOpcode opcode = hca::CompletionOpcode::kReceive;
  bool with_immediate = false;
  bool solicited = false;
  std::uint32_t immediate = 0;
  std::uint64_t length = 0;
  std::vector<Range> source;  // where its bytes were, in the memory of the sender's host
  std::optional<std::size_t> invalidated{};  // the receiver's window
};

// A memory window over a part of what the peer may write and read.
struct Window {
  Range range;
  bool bound_at_start = false;
  bool bound_at_end = false;
  std::size_t announced = 0;  // so many messages have arrived at the peer when it is bound
};

struct Receive {
  std::vector<Range> pieces;
};

// One end of a connection.
struct EndPlan {
  std::vector<Operation> operations;  // what it posts
  std::vector<Arrival> arrivals;      // what it is sent, in order
  std::vector<Receive> receives;      // one for each of them, unless they are shared
  Range source;                       // never changes; all that is sent is taken from here
  Range target;                       // what the peer may write and read
  Range words;                        // and use for atomics
  std::vector<Window> windows;        // into the target
};

struct HostPlan {
  std::vector<std::byte> initial;   // memory before the run
  std::vector<std::byte> expected;  // and after it, but for the shared words and what came of them
  Range shared_words;
  std::vector<Receive> shared_receives;  // with PlanOptions::shared_receives: all of them
  std::vector<std::pair<std::string, Range>> areas;  // for messages
};

struct Plan {
  PlanOptions options;
  HostPlan hosts[2];
  std::vector<EndPlan> ends[2];  // of each host, by connection

  Plan(Random random, const PlanOptions& options);
};

inline constexpr std::size_t kWords = 8;        // of an end
inline constexpr std::size_t kSharedWords = 4;  // of a host: the first half for adding, the rest
                                                // for compare and swap

// The name of the area that `offset` lies in, for messages.
std::string where(const HostPlan& host, std::size_t offset);

// Checks that what the atomics on shared words have returned, together with what the words hold at
// the end, is what some order of all of them gives, each carried out once. `memory` of both hosts;
// the results are then copied into `expected`. Returns what is wrong, or nothing.
std::string check_shared_words(Plan& plan, Bytes memory0, Bytes memory1);

}  // namespace weft::sim::test
