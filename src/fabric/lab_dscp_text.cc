// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_dscp_text.h"

#include <fmt/format.h>

#include <string_view>

namespace weft::fabric {
namespace {

constexpr std::string_view kControl = "control";
constexpr std::int64_t kMostDscp = 63;

// Null: there is no such key.
std::uint8_t* find(LabDscp& dscp, std::string_view key) {
  if (key == kControl) return &dscp.control;
  for (std::size_t sl = 0; sl < dscp.of_sl.size(); ++sl) {
    if (key == fmt::to_string(sl)) return &dscp.of_sl[sl];
  }
  return nullptr;
}

}  // namespace

Expected<LabDscp> read_dscp(const Value& value) {
  const auto entries = value.table();
  if (!entries) return tl::unexpected(entries.error());
  LabDscp out;
  for (const auto& [key, entry] : *entries) {
    std::uint8_t* const field = find(out, key);
    if (field == nullptr) {
      return entry.wrong("there is no such SL; there are 0 to 15, and control for all but data");
    }
    if (Done done = store(*field, entry.integer(0, kMostDscp)); !done) {
      return tl::unexpected(done.error());
    }
  }
  return out;
}

std::string dscp_words(const LabDscp& dscp) {
  std::string words;
  for (std::size_t sl = 0; sl < dscp.of_sl.size(); ++sl) {
    if (dscp.of_sl[sl] != 0) words += fmt::format("{} = {}, ", sl, dscp.of_sl[sl]);
  }
  return fmt::format("{{ {}{} = {} }}", words, kControl, dscp.control);
}

}  // namespace weft::fabric
