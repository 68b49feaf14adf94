// SPDX-License-Identifier: Apache-2.0
// PPP in HDLC-like framing over SONET/SDH (RFC 1662, RFC 2615): what is between two flags, before
// octets are stuffed, is
//
//   address FF, control 03, protocol 16, information, FCS 32 (or 16), the latter's low octet first
//
// Neither the address and control fields nor the protocol field are compressed (RFC 2615, 5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace weft::wan {

inline constexpr std::byte kPppFlag{0x7E};
inline constexpr std::byte kPppEscape{0x7D};
inline constexpr std::byte kPppEscapeBit{0x20};
inline constexpr std::uint16_t kPppAddressControl = 0xFF03;
inline constexpr std::size_t kPppHeader = 4;
inline constexpr std::size_t kPppDefaultUnit = 1500;  // MRU (RFC 1661, 6.1)

// Protocol numbers. Of the vendors' own ones (RFC 3772), a network protocol would need a control
// protocol; 405B is for where that is more than is needed.
enum class PppProtocol : std::uint16_t {
  kIpv4 = 0x0021,
  kIpv6 = 0x0057,
  kMpls = 0x0281,
  kVendor = 0x405B,
  kIpcp = 0x8021,
  kIpv6cp = 0x8057,
  kMplscp = 0x8281,
  kLcp = 0xC021,
};

// "IPv6CP"; "protocol 0x1234" where nothing is known of it.
[[nodiscard]] std::string to_text(PppProtocol protocol);

// Octets of the FCS.
enum class PppFcs : std::uint8_t { k16 = 2, k32 = 4 };

// A frame without its FCS, in two pieces so that nothing is copied.
struct PppFrame {
  Bytes header;       // from the address field on; empty: there is no frame
  Bytes information;  // what follows
};

// Frames that are to go.
class PppFrameSource {
 public:
  virtual ~PppFrameSource() = default;
  // The next one, which then counts as sent. It stays until the next call.
  [[nodiscard]] virtual PppFrame next() = 0;
};

// Frames that came, each with a right FCS.
class PppFrameSink {
 public:
  virtual ~PppFrameSink() = default;
  // Gone when this returns.
  virtual void frame(PppProtocol protocol, Bytes information) = 0;
};

[[nodiscard]] std::array<std::byte, kPppHeader> ppp_header(PppProtocol protocol);

}  // namespace weft::wan
