// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

// The choice that somebody who typed `word` probably meant: the one that the fewest insertions,
// deletions, replacements and swaps of neighbours lead to, if these are few for its length.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> choices);
// "; did you mean NAME?" with it, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& choices);

}  // namespace weft::cli
