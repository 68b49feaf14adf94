// SPDX-License-Identifier: Apache-2.0
// Files of M_Keys, whatever stands in them: keys that are written and read back as they are, or one
// line that begins with the file's name.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "input.h"
#include "sm/mkeys.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::fuzz::require;
  using weft::sm::MKeys;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto keys = MKeys::parse(text, "file");
  if (!keys) {
    require(keys.error().message.starts_with("file:"));
    require(std::count(keys.error().message.begin(), keys.error().message.end(), '\n') == 0);
    return 0;
  }
  require(MKeys::parse(keys->text(), "file") == *keys);
  const auto others = keys->others(1);
  const std::set<std::uint64_t> different(others.begin(), others.end());
  require(others.size() <= MKeys::kMostTried && different.size() == others.size());
  require(!different.contains(0) && !different.contains(1));
  return 0;
}
