// SPDX-License-Identifier: Apache-2.0
// A host that somebody else has on a line of packets: it sends numbered UDP datagrams in IPv6 to
// another one like it, on an Ethernet or not, and checks whether those of that one come whole, in
// order, and all of them.
//
//   payload   number 64 bits, and as many octets that follow from it as the number says
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mac_address.h"
#include "base/time.h"
#include "wan/line/equipment/foreign_counters.h"
#include "wan/line/equipment/sending_clock.h"

namespace weft::wan {

class ForeignPackets {
 public:
  struct Options {
    std::size_t pair = 0;  // of hosts, by which their addresses differ from those of others
    bool second = false;   // of that pair
    bool on_ethernet = false;
    std::uint64_t bytes_per_s = 0;
  };
  explicit ForeignPackets(const Options& options);

  void advance(Time now) { clock_.advance(now); }
  // Whether one is due; then the next one.
  [[nodiscard]] bool is_due() const { return clock_.is_due(); }
  [[nodiscard]] std::vector<std::byte> next();
  // Whether a packet that came is for its address, and for no other host on an Ethernet.
  [[nodiscard]] bool is_meant(Bytes packet) const;
  // One that is.
  void take(Bytes packet);

  [[nodiscard]] const Gid& address() const { return own_.ip; }
  [[nodiscard]] const ForeignCounters& counters() const { return arrivals_.counters(); }

 private:
  struct Host {
    Gid ip;
    MacAddress mac{};
  };
  static Host host(std::size_t pair, bool second);
  [[nodiscard]] std::vector<std::byte> make(const Host& from, const Host& to,
                                            std::uint64_t number) const;

  const Options options_;
  const Host own_;
  const Host other_;
  SendingClock clock_;
  std::uint64_t sent_ = 0;
  ForeignArrivals arrivals_;
};

}  // namespace weft::wan
