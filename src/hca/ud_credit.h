// SPDX-License-Identifier: Apache-2.0
// Receiver credits for unreliable datagrams between Weft peers (docs/wire-udp.md). UD has no
// acknowledgement, so nothing keeps a sender from overrunning the receiver's socket buffer. On the
// `udp` wire a sender numbers the packets of each flow (source QP, destination QP) in BTH.PSN and
// sets BTH.AckReq now and then; the receiver answers with a credit datagram: the newest PSN it has
// seen, how many more packets and how many bytes it can take. Credits pace; they never make UD
// reliable: a sender that hears nothing goes on after a short while.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "hca/lru_map.h"

namespace weft::hca {

// The payload of a credit datagram, 16 bytes big-endian.
struct UdCredit {
  static constexpr std::size_t kSize = 16;
  Psn seen{};                 // newest PSN of the flow that arrived
  std::uint32_t packets = 0;  // may be sent after `seen`
  std::uint32_t bytes = 0;    // may be in flight after `seen`, by the cost rule of kPacketCost
  std::uint32_t lost = 0;     // packets of this flow that never arrived, modulo 2^32

  static std::optional<UdCredit> parse(Bytes bytes);
  void write(MutableBytes bytes) const;
};

// A flow's other end.
struct FlowKey {
  Gid peer{};
  Qpn qpn{};
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const noexcept {
    return std::hash<Gid>{}(key.peer) * 31 + key.qpn.value();
  }
};

// What one datagram costs of the receiver's socket buffer beyond its bytes: the kernel accounts
// whole buffers (truesize). A datagram costs its bytes (BTH to ICRC) plus kPacketCost. Datagrams
// that leave as one segmented send arrive as one buffer and cost kPacketCost together, once: 60 KiB
// in a run are charged 61 KiB (the kernel: 66 to 70), a lone datagram of 64 bytes 1.1 KiB (the
// kernel: 0.75 to 1.25). What this estimate lacks is left free by grant_budget().
inline constexpr std::uint32_t kPacketCost = 1024;

// How much of a socket buffer of `socket_bytes` (as getsockopt(SO_RCVBUF) tells, in the kernel's
// own units) may be granted in units of cost. A quarter may be held by datagrams that were read
// already (Linux returns the memory of a UDP socket in such steps), and of the rest a sixth covers
// the error of kPacketCost.
[[nodiscard]] constexpr std::uint32_t grant_budget(std::uint32_t socket_bytes) {
  return socket_bytes / 8 * 5;
}

// The sending half of one flow. In flight is what was sent after the newest packet known to have
// arrived; a credit says how much of it the receiver has room for. No loss can stop a flow for
// good: without news for kPatience it goes on by itself.
class UdPacer {
 public:
  // What may go before the first credit: eight senders that start at once fit into the socket
  // buffer of a stock system together.
  static constexpr std::uint32_t kInitialPackets = 32;
  static constexpr std::uint32_t kInitialBytes = 32 * 1024;
  // The wait for a credit before going on without. It doubles with each wait in vain: a receiver
  // that lost its CPU for a while must not find more than its socket buffer holds.
  static constexpr Duration kPatience = 2ms;
  static constexpr std::uint32_t kMostDoublings = 6;
  // A peer that never answered so often does not know how: it is sent to freely.
  static constexpr std::uint32_t kWaitsUntilBlind = 5;
  static constexpr Duration kIdle = 5ms;  // after which a credit is no longer believed

  UdPacer() = default;
  explicit UdPacer(Psn first) : next_(first), base_(first - 1) {}

  // How many packets that cost `bytes_each` may go now. Zero: wait until deadline().
  [[nodiscard]] std::uint32_t allowance(std::uint32_t bytes_each, Time now);
  // Whether one more that costs `bytes` may go, in the same moment as the last allowance().
  [[nodiscard]] bool admits(std::uint32_t bytes) const;
  // A packet goes: returns its PSN and whether it asks for a credit.
  struct Stamp {
    Psn psn{};
    bool ack_request = false;
  };
  Stamp stamp(std::uint32_t bytes);
  void credit(const UdCredit& credit, Time now);
  // When a stalled flow gives up waiting.
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] std::uint64_t stalls() const { return stalls_; }
  [[nodiscard]] std::uint32_t lost() const { return lost_; }
  [[nodiscard]] std::uint32_t in_flight() const;
  [[nodiscard]] bool blind() const { return blind_; }

  // What stamp() changes, so that packets which the wire did not take can be taken back.
  struct Checkpoint {
    Psn next{};
    std::uint64_t sent_bytes = 0;
    std::uint32_t since_request_packets = 0;
    std::uint32_t since_request_bytes = 0;
    std::uint32_t mark_count = 0;
    bool ask = false;
  };
  [[nodiscard]] Checkpoint checkpoint() const;
  void roll_back(const Checkpoint& to);

 private:
  static constexpr std::uint32_t kMaxInFlight = 1u << 20;  // keeps PSN differences unambiguous
  static constexpr std::uint32_t kMaxWindow = 1u << 30;    // bytes

  struct Mark {
    Psn psn{};
    std::uint64_t bytes_through = 0;  // cost of everything up to and with `psn`
  };
  [[nodiscard]] Duration patience() const {
    return kPatience * (1u << std::min(waits_, kMostDoublings));
  }
  void start_over();
  void wait_is_over();
  void mark();
  [[nodiscard]] std::uint64_t bytes_through(Psn psn) const;
  [[nodiscard]] std::uint64_t bytes_in_flight() const { return sent_bytes_ - base_bytes_; }

  Psn next_{};
  Psn base_ = Psn{0} - 1;                          // newest PSN known to have arrived
  std::uint32_t limit_packets_ = kInitialPackets;  // may be in flight after base_
  std::uint32_t limit_bytes_ = kInitialBytes;
  std::uint32_t since_request_packets_ = 0;
  std::uint32_t since_request_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;  // cumulative cost of what was sent
  std::uint64_t base_bytes_ = 0;  // the same at base_, or somewhat less
  std::array<Mark, 64> marks_{};  // at least the last two windows; the oldest is overwritten
  std::uint32_t mark_count_ = 0;
  std::optional<Time> stalled_since_;
  Time used_at_{};
  bool ask_ = true;          // the next packet asks for a credit
  bool heard_ = false;       // a credit has come, ever
  std::uint32_t waits_ = 0;  // in vain, since the last credit
  bool blind_ = false;       // none came in time: send freely until one does
  std::uint64_t stalls_ = 0;
  std::uint32_t lost_ = 0;
};

// The receiving half of a queue pair: what it grants to each of its flows. A flow's share is an
// equal part of the whole, but never so much that all that was granted, and may still come, is more
// than the whole: a newcomer waits until the others have heard of their smaller shares. After a
// silence nobody gets more than the initial window for kSettle, and then at most twice as much from
// one credit to the next: of many that begin together the first must not get what the others, still
// unheard of, are using.
class UdGranter {
 public:
  static constexpr std::size_t kMaxFlows = 1024;  // beyond: the longest silent is forgotten
  static constexpr Duration kActive = 10ms;       // a flow counts as active for so long
  static constexpr Duration kSettle = 1ms;        // news of a share has reached its sender by then
  // More in flight gains nothing, and waits in memory that the caches no longer hold.
  static constexpr std::uint32_t kMostBytes = 1024 * 1024;
  static constexpr std::size_t kReorder = 256;  // packets: one later than that stays lost
  static_assert(UdPacer::kIdle < kActive, "a sender forgets a credit before its receiver does");

  // A packet of `bytes` (BTH to ICRC) arrived.
  void arrived(const FlowKey& flow, Psn psn, Time now, std::uint32_t bytes = 0);
  // The credit to send to `flow`, given what the whole queue pair can take: receive requests that
  // are posted and cost of datagrams. Nothing for a flow that is unknown or forgotten.
  [[nodiscard]] std::optional<UdCredit> grant(const FlowKey& flow, std::uint32_t packets,
                                              std::uint32_t bytes, Time now);
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }
  void clear() { flows_.clear(); }

 private:
  struct Flow {
    Psn newest{};
    std::bitset<kReorder> seen;  // bit i: newest - i has arrived
    std::optional<Psn> restart;  // far from `newest`: if this one is next, the peer began anew
    std::uint32_t lost = 0;
    std::uint32_t largest = 0;  // bytes
    Psn granted_until{};
    Psn granted_at{};  // `newest` at the last credit
    std::uint64_t granted_packets = 0;
    std::uint64_t granted_bytes = 0;  // of the last credit, counted from its `seen`
    std::uint64_t earlier_bytes = 0;  // what is left of larger ones before, until settled
    Time settled{};
    Time last{};
  };
  static Flow fresh(Psn psn, std::uint32_t bytes, Time now);
  void advance(Flow& flow, Psn psn, std::uint32_t bytes);
  static std::uint32_t packets_owed(const Flow& flow);
  static std::uint64_t bytes_owed(const Flow& flow, Time now);

  LruMap<FlowKey, Flow, FlowKeyHash> flows_{kMaxFlows};
  Time busy_since_{};  // when the first of the flows that are active now began
  std::uint64_t lost_ = 0;
};

}  // namespace weft::hca
