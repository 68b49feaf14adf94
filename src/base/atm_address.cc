// SPDX-License-Identifier: Apache-2.0
#include "base/atm_address.h"

#include <fmt/format.h>

#include <charconv>

namespace weft {
namespace {

// In front of these octets of an address is a dot.
constexpr bool has_dot_before(std::size_t octet) {
  return octet == 1 || octet == 13 || octet == 19;
}

}  // namespace

std::optional<AtmAddress> parse_atm_address(std::string_view text) {
  AtmAddress address{};
  for (std::size_t i = 0; i < address.size(); ++i) {
    if (i != 0 && text.starts_with('.')) text.remove_prefix(1);
    const std::string_view digits = text.substr(0, 2);
    unsigned octet = 0;
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, octet, 16);
    if (digits.size() != 2 || error != std::errc{} || at != end) return std::nullopt;
    address[i] = static_cast<std::byte>(octet);
    text.remove_prefix(2);
  }
  if (!text.empty()) return std::nullopt;
  return address;
}

std::string atm_address_text(const AtmAddress& address) {
  std::string text;
  for (std::size_t i = 0; i < address.size(); ++i) {
    if (has_dot_before(i)) text += '.';
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned>(address[i]));
  }
  return text;
}

}  // namespace weft
