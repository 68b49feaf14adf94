// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace weft {

// The line codes of fibres (wan/fibre_code.h), by their number there. The first one goes without
// saying.
inline constexpr std::array<std::string_view, 3> kFibreCodeNames{"symbols", "8b10b", "64b66b"};

// A fibre as lab files have it: its stream, and perhaps the code on it before:
// "tcp:192.0.2.1:7471", "64b66b+tcp:192.0.2.1:7471".
struct FibreAddress {
  std::size_t code = 0;  // of kFibreCodeNames
  std::string_view stream;

  // Nothing: what is before the plus sign is no code. Of the stream nothing is looked at but that
  // a plus sign behind its first colon is its own.
  [[nodiscard]] static constexpr std::optional<FibreAddress> parse(std::string_view text) {
    const std::size_t plus = text.substr(0, text.find(':')).find('+');
    if (plus == std::string_view::npos) return FibreAddress{.stream = text};
    const auto name = std::ranges::find(kFibreCodeNames, text.substr(0, plus));
    if (name == kFibreCodeNames.end()) return std::nullopt;
    return FibreAddress{.code = static_cast<std::size_t>(name - kFibreCodeNames.begin()),
                        .stream = text.substr(plus + 1)};
  }
};

}  // namespace weft
