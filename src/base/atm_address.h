// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

// The address of an ATM end system: 20 octets (ATM Forum UNI 3.1, 5.1.3; ISO 8348, annex A).
using AtmAddress = std::array<std::byte, 20>;

// As people write it: 40 hexadecimal digits, with dots between octets wherever they help, as in
// "47.0005.80ffe1000000f21a26d8.0020ea000ee0.00". Nothing: it is none.
[[nodiscard]] std::optional<AtmAddress> parse_atm_address(std::string_view text);

// The same with dots behind the authority's octet, before the end system's six and its selector.
[[nodiscard]] std::string atm_address_text(const AtmAddress& address);

}  // namespace weft
