// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_egress_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::fabric {

Expected<LabEgress> read_egress(const Value& value) {
  constexpr std::int64_t kLast = LabEgress::kLanes - 1;
  const auto entries = value.table();
  if (!entries) return tl::unexpected(entries.error());
  LabEgress out;
  for (const auto& [key, entry] : *entries) {
    std::size_t lane = 0;
    while (lane < LabEgress::kLanes && key != fmt::to_string(lane))
      ++lane;
    if (lane == LabEgress::kLanes) {
      return entry.wrong(fmt::format("there is no such data lane; there are 0 to {}", kLast));
    }
    const auto there = entry.integer(0, kLast);
    if (!there) return tl::unexpected(there.error());
    out.of_vl[lane] = Vl{static_cast<std::uint8_t>(*there)};
  }
  return out;
}

std::string egress_words(const LabEgress& egress) {
  std::vector<std::string> words;
  for (std::size_t lane = 0; lane < LabEgress::kLanes; ++lane) {
    const std::size_t there = egress.of_vl[lane].value();
    if (there != lane) words.push_back(fmt::format("{} = {}", lane, there));
  }
  return fmt::format("{{ {} }}", fmt::join(words, ", "));
}

}  // namespace weft::fabric
