// SPDX-License-Identifier: Apache-2.0
// Performance management, IBA 16.1: attributes are the last 192 bytes of the datagram. Their
// counters have places and widths of their own in each, which the agent's tables list.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/mad.h"

namespace weft::wire {

inline constexpr std::uint8_t kPerfClassVersion = 1;

enum class PerfAttribute : std::uint16_t {
  kClassPortInfo = 0x0001,
  kPortSamplesControl = 0x0010,
  kPortSamplesResult = 0x0011,
  kPortCounters = 0x0012,
  kPortCountersExtended = 0x001D,
};

// In ClassPortInfo.CapabilityMask and CapabilityMask2.
enum PerfCapability : std::uint16_t {
  kPerfAllPortSelect = 1u << 8,
  kPerfExtendedWidth = 1u << 9,
  kPerfTransmitWait = 1u << 12,
  kPerfQp1Drop = 1u << 15,
};
inline constexpr std::uint32_t kPerfAdditionalExtended = 1u << 1;

namespace perf {

inline constexpr std::size_t kDataOffset = 64;
inline constexpr std::size_t kDataSize = 192;
inline constexpr std::uint8_t kAllPorts = 0xFF;  // PortSelect: every port of the node together

[[nodiscard]] inline MutableBytes data(MutableMadBytes mad) {
  return mad.subspan(kDataOffset, kDataSize);
}

}  // namespace perf
}  // namespace weft::wire
