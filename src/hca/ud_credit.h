// SPDX-License-Identifier: Apache-2.0
// Receiver credits for unreliable datagrams between Weft peers (docs/wire-udp.md). UD has no
// acknowledgement, so nothing keeps a sender from overrunning the receiver's socket buffer. On the
// `udp` wire a sender numbers the packets of each flow (source QP, destination QP) in BTH.PSN and
// sets BTH.AckReq now and then; the receiver answers with a credit datagram: the newest PSN it has
// seen, how many more packets and how many bytes it can take. Credits pace; they never make UD
// reliable: a sender that hears nothing goes on after a short while.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"

namespace weft::hca {

// The payload of a credit datagram, 16 bytes big-endian.
struct UdCredit {
  static constexpr std::size_t kSize = 16;
  Psn seen;                  // newest PSN of the flow that arrived
  std::uint32_t packets = 0; // may be sent after `seen`
  std::uint32_t bytes = 0;   // may be in flight after `seen`, by the cost rule of kPacketCost
  std::uint32_t lost = 0;    // packets of this flow that never arrived, modulo 2^32

  static std::optional<UdCredit> parse(Bytes bytes);
  void write(MutableBytes bytes) const;
};

// A flow's other end.
struct FlowKey {
  Gid peer;
  Qpn qpn;
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const noexcept {
    return std::hash<Gid>{}(key.peer) * 31 + key.qpn.value();
  }
};

// The sending half of one flow.
class UdPacer {
 public:
  static constexpr std::uint32_t kInitialPackets = 32;
  static constexpr std::uint32_t kInitialBytes = 128 * 1024;
  static constexpr Duration kPatience = 2ms;  // wait for a credit before going on without

  // How many packets of `bytes` each may go now. Zero: wait until deadline().
  [[nodiscard]] std::uint32_t allowance(std::uint32_t bytes_each, Time now);
  // A packet goes: returns its PSN and whether it asks for a credit.
  struct Stamp {
    Psn psn;
    bool ack_request = false;
  };
  Stamp stamp(std::uint32_t bytes);
  void credit(const UdCredit& credit, Time now);
  // When a stalled flow gives up waiting.
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] std::uint64_t stalls() const { return stalls_; }
  [[nodiscard]] std::uint32_t lost() const { return lost_; }

 private:
  struct Mark {
    Psn psn;
    std::uint64_t bytes_before = 0;
  };
  Psn next_{};
  std::uint32_t limit_packets_ = kInitialPackets;  // may be in flight after base_
  std::uint32_t limit_bytes_ = kInitialBytes;
  std::uint32_t since_request_packets_ = 0;
  std::uint32_t since_request_bytes_ = 0;
  Psn base_ = Psn{0} - 1;          // newest PSN known to have arrived
  std::uint64_t sent_bytes_ = 0;   // cumulative cost of what was sent
  std::uint64_t base_bytes_ = 0;   // the same at base_
  std::array<Mark, 64> marks_{};   // requests that are out, oldest overwritten
  std::uint32_t mark_count_ = 0;
  std::optional<Time> stalled_since_;
  bool blind_ = false;             // no credit came in time: send freely until one does
  std::uint64_t stalls_ = 0;
  std::uint32_t lost_ = 0;
};

// The receiving half of a queue pair: what it grants to each of its flows.
class UdGranter {
 public:
  static constexpr std::size_t kMaxFlows = 1024;       // beyond: the longest silent is forgotten
  static constexpr Duration kActive = 10ms;            // a flow counts as active for so long

  // A packet arrived. Returns true when the sender asked for a credit.
  void arrived(const FlowKey& flow, Psn psn, Time now);
  // The credit to send to `flow`, given what the whole queue pair can take.
  [[nodiscard]] UdCredit grant(const FlowKey& flow, std::uint32_t packets, std::uint32_t bytes,
                               Time now);
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }

 private:
  struct Flow {
    Psn newest;
    std::uint32_t lost = 0;
    Time last{};
  };
  std::size_t active(Time now);
  std::unordered_map<FlowKey, Flow, FlowKeyHash> flows_;
  std::uint64_t lost_ = 0;
  Time counted_at_{};
  std::size_t counted_ = 0;
};

// What one datagram costs of the receiver's socket buffer beyond its bytes: the kernel accounts
// whole buffers (truesize). A run that goes as one segmented send costs this once per run.
inline constexpr std::uint32_t kPacketCost = 1024;

}  // namespace weft::hca
