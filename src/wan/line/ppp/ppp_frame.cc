// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/ppp_frame.h"

#include <fmt/format.h>

#include "wire/endian.h"

namespace weft::wan {

std::string to_text(PppProtocol protocol) {
  switch (protocol) {
    case PppProtocol::kIpv4:
      return "IPv4";
    case PppProtocol::kIpv6:
      return "IPv6";
    case PppProtocol::kMpls:
      return "MPLS";
    case PppProtocol::kVendor:
      return "vendor's";
    case PppProtocol::kIpcp:
      return "IPCP";
    case PppProtocol::kIpv6cp:
      return "IPV6CP";
    case PppProtocol::kMplscp:
      return "MPLSCP";
    case PppProtocol::kLcp:
      return "LCP";
  }
  return fmt::format("protocol 0x{:04x}", static_cast<unsigned>(protocol));
}

std::array<std::byte, kPppHeader> ppp_header(PppProtocol protocol) {
  std::array<std::byte, kPppHeader> header{};
  wire::store_be16(header.data(), kPppAddressControl);
  wire::store_be16(header.data() + 2, static_cast<std::uint16_t>(protocol));
  return header;
}

}  // namespace weft::wan
