// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/counters.h"

namespace weft::cli {

// What a counter of any layer counts, "" if no layer has one of that name.
std::string_view meaning_of(std::string_view counter);

// Whether it counts what happens on a good day too. All others say that something was dropped,
// lost, sent again, refused or given up; one that nobody knows is taken for one of these.
bool is_ordinary(std::string_view counter);

// For tests: all that exist, layer by layer, and those that are ordinary.
std::vector<std::span<const CounterInfo>> all_counters();
std::span<const std::string_view> ordinary_counters();

}  // namespace weft::cli
