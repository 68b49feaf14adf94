// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time.h"

namespace weft::phy {

// Of things that wait, each until its `at`, the first that is due by `now`, taken out; of those of
// one moment the one that was put in first. Nothing: none is due.
template <class T>
std::optional<T> take_due(std::vector<T>& things, Time now) {
  const auto first = std::min_element(things.begin(), things.end(),
                                      [](const T& a, const T& b) { return a.at < b.at; });
  if (first == things.end() || first->at > now) return std::nullopt;
  T taken = *first;
  things.erase(first);
  return taken;
}

}  // namespace weft::phy
