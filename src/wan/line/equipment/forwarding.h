// SPDX-License-Identifier: Apache-2.0
// Where what stands between lines of packets sends them on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/ids.h"
#include "base/mac_address.h"

namespace weft::wan {

enum class ForwardingCounter : std::uint8_t {
  kForwarded,
  kMalformed,
  kHopLimit,
  kNowhere,
  kDroppedFull,
  kTooLong,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ForwardingCounter::kCount)>
    kForwardingCounters{{
        {"packets_forwarded", "packets sent on"},
        {"packets_malformed", "packets dropped: their headers cannot be"},
        {"packets_hop_limit", "packets dropped: they may go no hop further"},
        {"packets_nowhere", "frames dropped: they are for where they come from"},
        {"packets_dropped_full", "packets dropped: the queue of the line was full"},
        {"packets_too_long", "packets dropped: the line takes none so long"},
    }};

using ForwardingCounters = CounterSet<ForwardingCounter, kForwardingCounters>;

// A host besides the two lines, where there is one.
inline constexpr std::size_t kHostPort = 2;
inline constexpr std::size_t kForwardingPorts = 3;
using PortSet = std::array<bool, kForwardingPorts>;

class Forwarding {
 public:
  explicit Forwarding(ForwardingCounters& counters) : counters_(counters) {}
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
  virtual ~Forwarding() = default;
  // Where a packet goes that came by a port, never back there; it may be changed.
  [[nodiscard]] virtual PortSet to(std::size_t from, MutableBytes packet) = 0;

 protected:
  [[nodiscard]] PortSet none(ForwardingCounter why) {
    counters_.add_in_turn(why);
    return {};
  }

 private:
  ForwardingCounters& counters_;
};

// From one line to the other, as it is.
class PlainForwarding final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  [[nodiscard]] PortSet to(std::size_t from, MutableBytes packet) override;
};

// A bridge of Ethernet (IEEE 802.1D, 7): to where an address was seen last, else everywhere.
class BridgeForwarding final : public Forwarding {
 public:
  // More addresses than this are not kept: frames to those go everywhere.
  static constexpr std::size_t kMostAddresses = 1024;

  using Forwarding::Forwarding;
  [[nodiscard]] PortSet to(std::size_t from, MutableBytes packet) override;

 private:
  std::map<MacAddress, std::size_t> seen_;
};

// A router of IPv6 (RFC 8200, 3) and IPv4 (RFC 791, 3.2): what is for the host goes there, what it
// sends to the line that it talks over, all else to the other line, a hop further. What it drops it
// says nothing of, as no ICMP is here.
class RouterForwarding final : public Forwarding {
 public:
  struct Host {
    Gid address;
    std::size_t line = 0;
  };
  RouterForwarding(ForwardingCounters& counters, const std::optional<Host>& host)
      : Forwarding(counters), host_(host) {}
  [[nodiscard]] PortSet to(std::size_t from, MutableBytes packet) override;

 private:
  const std::optional<Host> host_;
};

}  // namespace weft::wan
