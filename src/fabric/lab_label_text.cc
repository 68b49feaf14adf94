// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_label_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::fabric {

Expected<std::vector<std::uint32_t>> read_labels(const Value& value) {
  constexpr std::size_t kMost = 8;
  // Those before 16 have a meaning of their own (RFC 3032, 2.1); a label has 20 bits.
  constexpr std::int64_t kLeast = 16;
  constexpr std::int64_t kGreatest = 0xFFFFF;
  const auto entries = value.array();
  if (!entries || entries->empty() || entries->size() > kMost) {
    return value.wrong("must be a list of one to 8 labels, as in [100016]");
  }
  std::vector<std::uint32_t> out;
  for (const Value& entry : *entries) {
    const auto label = entry.integer(kLeast, kGreatest);
    if (!label) return tl::unexpected(label.error());
    out.push_back(static_cast<std::uint32_t>(*label));
  }
  return out;
}

std::string label_words(const std::vector<std::uint32_t>& labels) {
  return fmt::format("[{}]", fmt::join(labels, ", "));
}

}  // namespace weft::fabric
