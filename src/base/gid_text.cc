// SPDX-License-Identifier: Apache-2.0
#include "base/gid_text.h"

#include <arpa/inet.h>

#include <string>

namespace weft {

std::optional<Gid> parse_gid(std::string_view text) {
  if (text.find('\0') != text.npos) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
  return Gid{bytes};
}

}  // namespace weft
