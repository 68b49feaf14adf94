// SPDX-License-Identifier: Apache-2.0
// Where the counters of a port are in PortCounters and PortCountersExtended, how wide they are, and
// which bit of CounterSelect picks them: IBA 16.1.3.5 and 16.1.4.11.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mgmt/port_counts.h"

namespace weft::mgmt {

struct CounterField {
  std::uint64_t PortCounts::*count;
  std::uint8_t byte;    // from the attribute's first
  std::uint8_t bits;    // 8 to 64; 4: half of a byte
  std::uint8_t select;  // bit of CounterSelect; from 16 on, of CounterSelect2
  bool high = false;    // of 4 bits: the upper half
};

// 1 PortSelect  2-3 CounterSelect  18 CounterSelect2
inline constexpr std::size_t kPortCountersSize = 44;
inline constexpr std::array<CounterField, 18> kPortCounters{{
    {&PortCounts::symbol_errors, 4, 16, 0},
    {&PortCounts::link_error_recovery, 6, 8, 1},
    {&PortCounts::link_downed, 7, 8, 2},
    {&PortCounts::receive_errors, 8, 16, 3},
    {&PortCounts::receive_remote_physical_errors, 10, 16, 4},
    {&PortCounts::receive_switch_relay_errors, 12, 16, 5},
    {&PortCounts::transmit_discards, 14, 16, 6},
    {&PortCounts::transmit_constraint_errors, 16, 8, 7},
    {&PortCounts::receive_constraint_errors, 17, 8, 8},
    {&PortCounts::local_link_integrity_errors, 19, 4, 9, true},
    {&PortCounts::excessive_buffer_overruns, 19, 4, 10},
    {&PortCounts::vl15_dropped, 22, 16, 11},
    {&PortCounts::transmit_words, 24, 32, 12},
    {&PortCounts::receive_words, 28, 32, 13},
    {&PortCounts::transmit_packets, 32, 32, 14},
    {&PortCounts::receive_packets, 36, 32, 15},
    {&PortCounts::transmit_wait, 40, 32, 16},
    {&PortCounts::qp1_dropped, 20, 16, 17},
}};

// 1 PortSelect  2-3 CounterSelect  4-7 CounterSelect2
inline constexpr std::size_t kPortCountersExtendedSize = 184;
inline constexpr std::array<CounterField, 22> kPortCountersExtended{{
    {&PortCounts::transmit_words, 8, 64, 0},
    {&PortCounts::receive_words, 16, 64, 1},
    {&PortCounts::transmit_packets, 24, 64, 2},
    {&PortCounts::receive_packets, 32, 64, 3},
    {&PortCounts::unicast_transmit_packets, 40, 64, 4},
    {&PortCounts::unicast_receive_packets, 48, 64, 5},
    {&PortCounts::multicast_transmit_packets, 56, 64, 6},
    {&PortCounts::multicast_receive_packets, 64, 64, 7},
    {&PortCounts::symbol_errors, 72, 64, 16},
    {&PortCounts::link_error_recovery, 80, 64, 17},
    {&PortCounts::link_downed, 88, 64, 18},
    {&PortCounts::receive_errors, 96, 64, 19},
    {&PortCounts::receive_remote_physical_errors, 104, 64, 20},
    {&PortCounts::receive_switch_relay_errors, 112, 64, 21},
    {&PortCounts::transmit_discards, 120, 64, 22},
    {&PortCounts::transmit_constraint_errors, 128, 64, 23},
    {&PortCounts::receive_constraint_errors, 136, 64, 24},
    {&PortCounts::local_link_integrity_errors, 144, 64, 25},
    {&PortCounts::excessive_buffer_overruns, 152, 64, 26},
    {&PortCounts::vl15_dropped, 160, 64, 27},
    {&PortCounts::transmit_wait, 168, 64, 28},
    {&PortCounts::qp1_dropped, 176, 64, 29},
}};

}  // namespace weft::mgmt
