// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::mgmt {

// What a port has counted since it exists, in the words of IBA 16.1.3.5 and 16.1.4.11. Never reset
// and never full: the performance agent remembers since when its clients want to count, and how
// wide the fields are in which it answers. Data counts 4-byte words, LRH through ICRC.
struct PortCounts {
  std::uint64_t symbol_errors = 0;
  std::uint64_t link_error_recovery = 0;
  std::uint64_t link_downed = 0;
  std::uint64_t receive_errors = 0;
  std::uint64_t receive_remote_physical_errors = 0;
  std::uint64_t receive_switch_relay_errors = 0;
  std::uint64_t transmit_discards = 0;
  std::uint64_t transmit_constraint_errors = 0;
  std::uint64_t receive_constraint_errors = 0;
  std::uint64_t local_link_integrity_errors = 0;
  std::uint64_t excessive_buffer_overruns = 0;
  std::uint64_t qp1_dropped = 0;
  std::uint64_t vl15_dropped = 0;
  std::uint64_t transmit_words = 0;
  std::uint64_t receive_words = 0;
  std::uint64_t transmit_packets = 0;
  std::uint64_t receive_packets = 0;
  std::uint64_t transmit_wait = 0;  // ticks in which there was something to send, but no credit
  std::uint64_t unicast_transmit_packets = 0;
  std::uint64_t unicast_receive_packets = 0;
  std::uint64_t multicast_transmit_packets = 0;
  std::uint64_t multicast_receive_packets = 0;

  friend bool operator==(const PortCounts&, const PortCounts&) = default;
};

}  // namespace weft::mgmt
