// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string_view>

namespace weft {
namespace {
constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
}  // namespace

Gid Gid::from_ipv4(std::uint32_t host_order_address) {
  std::array<std::uint8_t, 16> bytes{};
  std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin());
  for (unsigned i = 0; i < 4; ++i) {
    bytes[12 + i] = static_cast<std::uint8_t>(host_order_address >> (24 - 8 * i));
  }
  return Gid{bytes};
}

bool Gid::is_ipv4_mapped() const {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes_.begin());
}

std::uint32_t Gid::ipv4() const {
  return std::uint32_t{bytes_[12]} << 24 | std::uint32_t{bytes_[13]} << 16 |
         std::uint32_t{bytes_[14]} << 8 | bytes_[15];
}

bool Gid::is_link_local() const {
  return bytes_[0] == 0xFE && (bytes_[1] & 0xC0) == 0x80;
}

bool Gid::is_multicast() const {
  return bytes_[0] == 0xFF || (is_ipv4_mapped() && (bytes_[12] & 0xF0) == 0xE0);
}

std::string Gid::to_string() const {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, bytes_.data(), text, sizeof text);
  return text;
}

}  // namespace weft

std::size_t std::hash<weft::Gid>::operator()(const weft::Gid& gid) const noexcept {
  const auto& bytes = gid.bytes();
  return std::hash<std::string_view>{}(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}
