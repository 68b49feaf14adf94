// SPDX-License-Identifier: Apache-2.0
#include "base/gid_text.h"

#include <arpa/inet.h>

#include <charconv>
#include <string>

namespace weft {

std::optional<Gid> parse_gid(std::string_view text) {
  if (text.find('\0') != text.npos) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
  return Gid{bytes};
}

std::optional<Guid> parse_guid(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return Guid{value};
}

}  // namespace weft
