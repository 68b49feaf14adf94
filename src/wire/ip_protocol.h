// SPDX-License-Identifier: Apache-2.0
// The protocol of IPv4 and the next header of IPv6: IANA's numbers.
#pragma once

#include <cstdint>

namespace weft::wire::ip_protocol {

inline constexpr std::uint8_t kHopByHop = 0;  // RFC 8200, 4.3
inline constexpr std::uint8_t kIcmp = 1;
inline constexpr std::uint8_t kIgmp = 2;
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kDccp = 33;
inline constexpr std::uint8_t kRouting = 43;         // RFC 8200, 4.4
inline constexpr std::uint8_t kFragment = 44;        // RFC 8200, 4.5
inline constexpr std::uint8_t kAuthentication = 51;  // RFC 4302
inline constexpr std::uint8_t kIcmpv6 = 58;          // RFC 4443
inline constexpr std::uint8_t kNoNext = 59;          // RFC 8200, 4.7
inline constexpr std::uint8_t kDestination = 60;     // RFC 8200, 4.6
inline constexpr std::uint8_t kSctp = 132;
inline constexpr std::uint8_t kUdpLite = 136;

}  // namespace weft::wire::ip_protocol
